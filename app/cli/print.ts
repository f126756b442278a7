/** Profiles as table, JSON or Markdown. Recorded text can't send control characters to the terminal. */
import { styleText } from 'node:util';
import { escapeControls, UNSEEN } from '../profiler/escape-controls.ts';

export const LIST_FORMATS = ['table', 'json', 'markdown'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export interface ListedProfile {
  token: string;
  startedAt: number;
  state: string;
  method: string;
  url: string;
  status: number | null;
  durationMs: number | null;
  queries: number;
  error: string | null;
  marks: readonly { label: string }[];
}

export interface Screen {
  write: (text: string) => void;
  colours: boolean;
  /** Characters in a line; undefined if it isn't a terminal. */
  columns: number | undefined;
}

const HEADINGS = ['TOKEN', 'AT', 'STATUS', 'METHOD', 'TIME', 'QUERIES', 'URL', 'FINDINGS'] as const;
type Heading = (typeof HEADINGS)[number];
const NUMERIC = new Set<Heading>(['TIME', 'QUERIES']);
const LONGEST_URL = 60;
/** Columns of a terminal for URL and findings. In a narrow one others make room, in this order. */
const LEAST_REST = 30;
const DISPENSABLE: readonly Heading[] = ['QUERIES', 'AT', 'METHOD'];
const GAP = 2;

const NARROW = /[\x20-\x7e]/;
/** Combining marks, joiners and selectors of a form. */
const NO_COLUMN = /[\p{Mn}\p{Me}\u200d\ufe0f]/u;
/** East Asian wide forms, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

export function countText(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'profile' : 'profiles'}`;
}

/** Escapes all but line breaks and tabs. */
export function printableText(text: string): string {
  return text.replace(/[^\n\t]+/g, escapeControls);
}

/** JSON stays the same JSON. */
export function printableLine(json: string): string {
  return json.replace(UNSEEN, (one) =>
    Array.from({ length: one.length }, (_unit, at) => one.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

export function printableJson(value: unknown): string {
  return `${printableLine(JSON.stringify(value, null, 2))}\n`;
}

function columnsOf(character: string): number {
  if (NARROW.test(character)) return 1;
  if (NO_COLUMN.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

function widthOf(text: string): number {
  return Array.from(text).reduce((width, character) => width + columnsOf(character), 0);
}

function cut(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let kept = '';
  let width = 1;
  for (const character of text) {
    width += columnsOf(character);
    if (width > most) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Keeps the end, which tells URLs apart. */
function cutStart(text: string, most: number): string {
  const turned = Array.from(text).reverse().join('');
  return Array.from(cut(turned, most)).reverse().join('');
}

function pad(cell: string, width: number, isNumeric: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return isNumeric ? `${blanks}${cell}` : `${cell}${blanks}`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** In local time; with its day if that is not today. */
function momentText(startedAt: number): string {
  const at = new Date(startedAt);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time.slice(0, 5)}`;
}

function cellsOf(row: ListedProfile): Record<Heading, string> {
  const findings = row.marks.map(({ label }) => label).join(', ');
  const cells = {
    TOKEN: row.token,
    AT: momentText(row.startedAt),
    STATUS: row.status === null ? '-' : String(row.status),
    METHOD: row.method,
    TIME: row.durationMs === null ? '-' : `${row.durationMs.toFixed(1)} ms`,
    QUERIES: String(row.queries),
    URL: row.url,
    FINDINGS: row.error === null ? findings : [findings, row.error].filter((part) => part !== '').join(' · '),
  };
  for (const heading of HEADINGS) cells[heading] = escapeControls(cells[heading]);
  return cells;
}

type Style = Parameters<typeof styleText>[0];

/** Whether the terminal takes colours was decided before. */
function paint(text: string, style: Style): string {
  return styleText(style, text, { validateStream: false });
}

function colourOf(status: string): Style {
  return status.startsWith('5') ? 'red' : status.startsWith('4') ? 'yellow' : 'green';
}

function layoutOf(
  body: readonly Record<Heading, string>[],
  columns: number | undefined,
): Map<Heading, number> {
  const widths = new Map(
    HEADINGS.map((heading) => [
      heading,
      Math.max(heading.length, ...body.map((cells) => widthOf(cells[heading]))),
    ]),
  );
  const [url = 0, findings = 0] = [widths.get('URL'), widths.get('FINDINGS')];
  widths.set('URL', Math.min(url, LONGEST_URL));
  if (columns === undefined) return widths;
  const rest = (): number => {
    const others = [...widths].filter(([heading]) => heading !== 'URL' && heading !== 'FINDINGS');
    return columns - others.reduce((sum, [, width]) => sum + width + GAP, 0);
  };
  for (const heading of DISPENSABLE)
    if (rest() < Math.min(LEAST_REST, url + GAP + findings)) widths.delete(heading);
  const both = Math.max(0, rest() - GAP);
  const shownUrl = Math.min(url, Math.max(Math.ceil(both / 2), both - findings));
  widths.set('URL', shownUrl).set('FINDINGS', Math.max(0, Math.min(findings, both - shownUrl)));
  return widths;
}

/** `isMore`: rows that follow others, without headings. */
export function table(rows: readonly ListedProfile[], screen: Screen, isMore = false): string {
  const body = rows.map(cellsOf);
  const widths = layoutOf(body, screen.columns);
  const lineOf = (cells: Record<Heading, string>, isHead = false): string => {
    const shown = Array.from(widths, ([heading, width]) => {
      const cell = cells[heading];
      const text = heading === 'URL' && !isHead ? cutStart(cell, width) : cut(cell, width);
      const padded = pad(text, width, NUMERIC.has(heading));
      const isPainted = screen.colours && heading === 'STATUS' && !isHead;
      return isPainted ? padded.replace(text, paint(text, colourOf(cell))) : padded;
    });
    return shown.join(' '.repeat(GAP)).trimEnd();
  };
  const head = lineOf(Object.fromEntries(HEADINGS.map((heading) => [heading, heading])) as never, true);
  return [
    ...(isMore ? [] : [screen.colours ? paint(head, 'bold') : head]),
    ...body.map((cells) => lineOf(cells)),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

export function markdownTable(rows: readonly ListedProfile[], isMore = false): string {
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replace(/[\\|]/g, '\\$&')).join(' | ')} |\n`;
  const head = isMore ? [] : [lineOf(HEADINGS), lineOf(HEADINGS.map(() => '---'))];
  return [...head, ...rows.map((row) => lineOf(Object.values(cellsOf(row))))].join('');
}
