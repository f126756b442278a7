/** Code on a page: numbered lines that can't be selected with their numbers, marked lines, coloured tokens. */
import { escapeHtml, SafeHtml } from './safe-html.ts';
import { count } from './numbers.ts';

/** Class (`k` keyword, `s` string, `d` number, `f` function, `c` comment, `v` value in place, `u` underlined, empty: plain) and text. */
export type CodeToken = readonly [string, string];

export interface CodeLine {
  text?: string;
  tokens?: readonly CodeToken[];
  number?: number;
  mark?: 'hot' | 'loop' | undefined;
}

export interface CodeOptions {
  label: string;
  id?: string;
  plain?: boolean;
  wrap?: boolean;
}

const LONGEST_LINE = 5000;
const MOST_LINES = 2000;
const TOKEN_CLASSES = new Set(['k', 's', 'd', 'f', 'c', 'v']);
/** A truncated string ends with its line: a search from each of its quotes would take quadratic time. */
const JSON_TOKEN =
  /("(?:[^"\\]|\\[^])*(?:"|\\?$))(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

function tokenHtml([kind, text]: CodeToken): string {
  if (kind === 'u') return `<u>${escapeHtml(text)}</u>`;
  return TOKEN_CLASSES.has(kind) ? `<span class="${kind}">${escapeHtml(text)}</span>` : escapeHtml(text);
}

function lineHtml(line: CodeLine): string {
  const { tokens, text = '' } = line;
  if (tokens !== undefined) return tokens.map(tokenHtml).join('');
  if (text.length <= LONGEST_LINE) return escapeHtml(text);
  const cut = count(text.length - LONGEST_LINE, 'more character');
  return `${escapeHtml(text.slice(0, LONGEST_LINE))}<span class="c"> &hellip; ${cut}</span>`;
}

function attribute(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : ` ${name}="${escapeHtml(value)}"`;
}

function codeLines(lines: readonly (string | CodeLine)[], options: CodeOptions): SafeHtml {
  const { label, id, plain = false, wrap = false } = options;
  const classes = `code${plain ? ' plain' : ''}${wrap ? ' wrap' : ''}`;
  // One string and not a tagged template for each token: a page has thousands.
  let html = openPre(classes, label, id);
  lines.slice(0, MOST_LINES).forEach((given, index) => {
    const line = typeof given === 'string' ? { text: given } : given;
    const number = plain ? undefined : (line.number ?? index + 1);
    html += `<span${attribute('class', line.mark)}${attribute('data-n', number)}>${lineHtml(line)}</span>`;
  });
  if (lines.length > MOST_LINES)
    html += `<span class="c">&hellip; ${count(lines.length - MOST_LINES, 'more line')}</span>`;
  return new SafeHtml(`${html}</pre>`);
}

function openPre(classes: string, label: string, id: string | undefined): string {
  return `<pre class="${classes}"${attribute('id', id)} dir="ltr" tabindex="0" role="region"${attribute('aria-label', label)}>`;
}

/** A long text, without numbers and marks, so that it costs no more than its characters. */
function codeText(text: string, { label, id }: Pick<CodeOptions, 'label' | 'id'>): SafeHtml {
  // HTML parsers drop a line end directly after <pre>.
  const first = text.startsWith('\n') ? '\n' : '';
  return new SafeHtml(`${openPre('code text', label, id)}${first}${escapeHtml(text)}</pre>`);
}

function jsonTokens(line: string): CodeToken[] {
  const tokens: CodeToken[] = [];
  let from = 0;
  JSON_TOKEN.lastIndex = 0;
  for (let match = JSON_TOKEN.exec(line); match !== null; match = JSON_TOKEN.exec(line)) {
    const [all, text, colon, number] = match;
    if (match.index > from) tokens.push(['', line.slice(from, match.index)]);
    if (text !== undefined) tokens.push([colon === undefined ? 's' : 'k', text], ['', colon ?? '']);
    else tokens.push([number === undefined ? 'k' : 'd', all]);
    from = match.index + all.length;
  }
  tokens.push(['', line.slice(from)]);
  return tokens;
}

export const codeHelpers = {
  tokens: (tokens: readonly CodeToken[]): SafeHtml => new SafeHtml(tokens.map(tokenHtml).join('')),
  codeLines,
  codeText,
  jsonText: (text: string, { label, id }: Pick<CodeOptions, 'label' | 'id'>): SafeHtml =>
    codeLines(
      text.split('\n').map((line) => ({ tokens: jsonTokens(line.slice(0, LONGEST_LINE)) })),
      { label, ...(id === undefined ? {} : { id }), plain: true, wrap: true },
    ),
} as const;
