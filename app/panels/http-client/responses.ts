/** Whether calls to one address got the same response, and where two responses differ, line by line. */
import type { CallEntry } from './data.ts';

export interface DiffLine {
  text: string;
  /** Only in the earlier response, only in the later one, or in both. */
  mark?: 'gone' | 'come';
}

export interface ResponsesRow {
  says: string;
  /** The first call and the next one whose response differs; null if all are the same. */
  diff: { first: number; other: number; lines: DiffLine[] } | null;
}

/** Lines of each response that are compared; of what lies between the first and the last difference, so the table below stays small. */
const MOST_COMPARED = 300;
const MOST_SHOWN = 40;
const LONGEST_LINE = 200;

/** Indented; null if it is not JSON. */
export function indented(text: string): string | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

/** How many lines `a` from i and `b` from j have in common, in order: the table of the longest common subsequence. */
function commonTable(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const [row, below] = [table[i], table[i + 1]];
      if (row === undefined || below === undefined) continue;
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  return table;
}

/** All lines of both, in order. */
function diffWhole(a: readonly string[], b: readonly string[]): DiffLine[] {
  const table = commonTable(a, b);
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      lines.push({ text: left });
      i++;
      j++;
    } else if (
      left !== undefined &&
      (right === undefined || (table[i + 1]?.[j] ?? 0) >= (table[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ text: left, mark: 'gone' });
      i++;
    } else {
      lines.push({ text: right ?? '', mark: 'come' });
      j++;
    }
  }
  return lines;
}

/** Lines that differ, each with the line before and after it. At most MOST_COMPARED lines of each text are compared. */
function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  const from = Math.max(0, start - 1);
  const until = from + MOST_COMPARED;
  const whole = diffWhole(a.slice(from, until), b.slice(from, until));
  // Where it was cut, the last lines of one text stand beside lines of the other that were not compared.
  const common =
    Math.max(a.length, b.length) > until ? whole.findLastIndex(({ mark }) => mark === undefined) : -1;
  const lines = common === -1 ? whole : whole.slice(0, common + 1);
  const near = lines.filter((line, index) =>
    [lines[index - 1], line, lines[index + 1]].some((one) => one?.mark !== undefined),
  );
  const shown = near.slice(0, MOST_SHOWN).map(({ text, mark }) => ({
    text: `${mark === undefined ? ' ' : mark === 'gone' ? '−' : '+'} ${text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text}`,
    ...(mark === undefined ? {} : { mark }),
  }));
  return near.length > MOST_SHOWN ? [...shown, { text: '…' }] : shown;
}

/** null if the URLs differ, or the response of any call is unknown. `members`: indexes of the calls. */
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
