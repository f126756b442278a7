/** Whether calls to one address got the same response, and where two responses differ, line by line. */
import type { CallEntry } from './data.ts';

export interface DiffLine {
  text: string;
  mark?: 'gone' | 'come';
}

export interface ResponsesRow {
  says: string;
  diff: { first: number; other: number; lines: DiffLine[] } | null;
}

const MOST_SHOWN = 20;
const LONGEST_LINE = 200;

export function indented(text: string): string | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const said = (lines: readonly string[], sign: string, mark?: DiffLine['mark']): DiffLine[] => {
    const shown = lines.slice(0, MOST_SHOWN).map((text) => ({
      text: `${sign} ${text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text}`,
      ...(mark === undefined ? {} : { mark }),
    }));
    return lines.length > MOST_SHOWN ? [...shown, { text: '…' }] : shown;
  };
  return [
    ...said(a.slice(Math.max(0, start - 1), start), ' '),
    ...said(a.slice(start, a.length - end), '−', 'gone'),
    ...said(b.slice(start, b.length - end), '+', 'come'),
    ...said(end === 0 ? [] : a.slice(a.length - end, a.length - end + 1), ' '),
  ];
}

export function compareResponses(
  calls: readonly CallEntry[],
  members: readonly number[],
): ResponsesRow | null {
  const entries = members.flatMap((index) => calls[index] ?? []);
  const [first] = entries;
  if (first === undefined || entries.some(({ url, method }) => url !== first.url || method !== first.method))
    return null;
  const texts = entries.map(({ responseBody }) => responseBody?.text ?? null);
  const [text] = texts;
  if (text === undefined || text === null || texts.includes(null)) return null;
  const isCut = entries.some(({ responseBody }) => responseBody?.truncated === true);
  const differing = texts.findIndex((other) => other !== text);
  const all = entries.length === 2 ? 'Both' : `All ${entries.length}`;
  const far = isCut ? ', as far as they were recorded' : '';
  if (differing === -1) return { says: `${all} responses are the same${far}.`, diff: null };
  const count = texts.filter((other) => other !== text).length;
  const other = texts[differing] ?? '';
  return {
    says: `${count === 1 ? 'One response differs' : `${count} responses differ`} from the first.`,
    diff: {
      first: (members[0] ?? 0) + 1,
      other: (members[differing] ?? 0) + 1,
      lines: diffLines(indented(text) ?? text, indented(other) ?? other),
    },
  };
}
