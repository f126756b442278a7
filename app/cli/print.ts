/** Profiles as table, JSON or Markdown. Recorded text can't send control characters to the terminal. */
import { escapeControls } from '../profiler/escape-controls.ts';

export const LIST_FORMATS = ['table', 'json', 'markdown'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

/** What is printed of a row of `search.json`. */
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
const STATUS = HEADINGS.indexOf('STATUS');
const NUMERIC = new Set(['TIME', 'QUERIES']);
const LONGEST_CELL = 60;
const RED = 31;
const YELLOW = 33;
const GREEN = 32;
const BOLD = 1;

const NARROW = /[\x20-\x7e]/;
/** Combining marks, joiners and selectors of a form. */
const NO_COLUMN = /[\p{Mn}\p{Me}\u200d\ufe0f]/u;
/** East Asian wide forms, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

/** Controls that JSON.stringify leaves as they are. */
const CONTROLS_IN_JSON = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Escapes all but line breaks and tabs. */
export function printableText(text: string): string {
  return text.replace(/[^\n\t]+/g, escapeControls);
}

/** JSON stays the same JSON. */
export function printableLine(json: string): string {
  return json.replace(CONTROLS_IN_JSON, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function printableJson(value: unknown): string {
  return `${printableLine(JSON.stringify(value, null, 2))}\n`;
}

/** Columns of a terminal that a character takes. */
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

function pad(cell: string, width: number, isNumeric: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return isNumeric ? `${blanks}${cell}` : `${cell}${blanks}`;
}

function cellsOf(row: ListedProfile): string[] {
  const findings = row.marks.map(({ label }) => label).join(', ');
  return [
    row.token,
    new Date(row.startedAt).toISOString().replace('T', ' ').slice(0, 19),
    row.status === null ? '-' : String(row.status),
    row.method,
    row.durationMs === null ? '-' : `${row.durationMs.toFixed(1)} ms`,
    String(row.queries),
    row.url,
    row.error === null ? findings : [findings, row.error].filter((part) => part !== '').join(': '),
  ].map(escapeControls);
}

function paint(text: string, code: number): string {
  return `\u001b[${code}m${text}\u001b[0m`;
}

function colourOf(status: string | undefined): number {
  if (status?.startsWith('5') === true) return RED;
  return status?.startsWith('4') === true ? YELLOW : GREEN;
}

/** `isMore`: rows that follow others, without headings. */
export function table(rows: readonly ListedProfile[], screen: Screen, isMore = false): string {
  const body = rows.map((row) => {
    const cells = cellsOf(row);
    return cells.map((cell, at) => (at === cells.length - 1 ? cell : cut(cell, LONGEST_CELL)));
  });
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...body.map((cells) => widthOf(cells[at] ?? ''))),
  );
  const lineOf = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => pad(cell, widths[at] ?? 0, NUMERIC.has(HEADINGS[at] ?? '')))
      .join('  ')
      .trimEnd();
  const fit = (line: string): string => (screen.columns === undefined ? line : cut(line, screen.columns));
  const lines = body.map((cells) => {
    const line = fit(lineOf(cells));
    if (!screen.colours) return line;
    const from = widths.slice(0, STATUS).reduce((sum, width) => sum + width + 2, 0);
    const status = line.slice(from, from + 3);
    return `${line.slice(0, from)}${paint(status, colourOf(cells[STATUS]))}${line.slice(from + 3)}`;
  });
  const head = fit(lineOf(HEADINGS));
  return [...(isMore ? [] : [screen.colours ? paint(head, BOLD) : head]), ...lines]
    .map((line) => `${line}\n`)
    .join('');
}

export function markdownTable(rows: readonly ListedProfile[], isMore = false): string {
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replace(/[\\|]/g, '\\$&')).join(' | ')} |\n`;
  const head = isMore ? [] : [lineOf(HEADINGS), lineOf(HEADINGS.map(() => '---'))];
  return [...head, ...rows.map((row) => lineOf(cellsOf(row)))].join('');
}
