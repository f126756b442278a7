/**
 * A plain value as a tree: lists and objects fold, small ones are on one line. Its text, folded or not, is the value as JSON, so that it can
 * be copied; our notes are marked and never copied. Levels deeper than any recorder stores are left out, with a note.
 */
import { escapeHtml, SafeHtml } from './safe-html.ts';
import { numberHelpers } from './numbers.ts';

export interface TreeOptions {
  label: string;
  id?: string;
  /** Levels that are open at first. */
  open?: number;
  /** Entries shown of each list or object. */
  most?: number;
}

const DEFAULT_OPEN = 2;
/** As many as the recorder stores, and its count of the others. */
const DEFAULT_MOST = 101;
const ONE_LINE = 64;
const LONGEST_TEXT = 5000;
const DEEPEST = 40;

function textHtml(text: string): string {
  const shown = JSON.stringify(text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text);
  const cut =
    text.length > LONGEST_TEXT
      ? ` <span class="say">&hellip; ${numberHelpers.count(text.length - LONGEST_TEXT, 'more character')}</span>`
      : '';
  return `<span class="s">${escapeHtml(shown)}</span>${cut}`;
}

function scalarHtml(value: unknown): string {
  if (typeof value === 'string') return textHtml(value);
  const kind = typeof value === 'number' ? 'd' : 'k';
  return `<span class="${kind}">${escapeHtml(String(JSON.stringify(value) ?? 'null'))}</span>`;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function entriesOf(value: object): [string | null, unknown][] {
  return Array.isArray(value)
    ? value.map((item: unknown): [null, unknown] => [null, item])
    : Object.entries(value);
}

/** Entries of the value, those included that the recorder left out: it counts them in a last entry (`… 400 more`). */
function entryCount(entries: readonly (readonly [string | null, unknown])[], noun: string): string {
  const [key, last] = entries.at(-1) ?? [null, null];
  const left = typeof last === 'string' ? /^(… )?(\d+) more$/.exec(last) : null;
  if (left === null || (key === null) !== (left[1] !== undefined) || (key !== null && key !== '…'))
    return numberHelpers.count(entries.length, noun);
  const kept = entries.length - 1;
  return `${numberHelpers.count(kept + Number(left[2]), noun)}, ${numberHelpers.count(kept)} recorded`;
}

function keyHtml(key: string | null): string {
  return key === null ? '' : `<span class="f">${escapeHtml(JSON.stringify(key))}</span>: `;
}

function lineHtml(value: object): string | null {
  const entries = entriesOf(value);
  if (entries.length > 8 || entries.some(([, item]) => isContainer(item) && Object.keys(item).length > 0))
    return null;
  if (JSON.stringify(value).length > ONE_LINE) return null;
  const parts = entries.map(([key, item]) => {
    const empty = Array.isArray(item) ? '[]' : '{}';
    return keyHtml(key) + (isContainer(item) ? empty : scalarHtml(item));
  });
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return open + parts.join(', ') + close;
}

export function tree(value: unknown, options: TreeOptions): SafeHtml {
  const { label, id, open = DEFAULT_OPEN, most = DEFAULT_MOST } = options;

  function itemHtml(key: string | null, item: unknown, comma: string, depth: number): string {
    if (!isContainer(item)) return keyHtml(key) + scalarHtml(item) + comma;
    const line = lineHtml(item);
    if (line !== null) return keyHtml(key) + line + comma;
    const entries = entriesOf(item);
    const isList = Array.isArray(item);
    const [first, end] = isList ? ['[', ']'] : ['{', '}'];
    if (depth >= DEEPEST)
      return `${keyHtml(key)}${first}${end}<span class="say"> deeper levels are not shown</span>${comma}`;
    const count = entryCount(entries, isList ? 'item' : 'field');
    const shown = entries.slice(0, most).map(([name, held], index) => {
      const last = index === entries.length - 1 ? '' : ',';
      return `<li>${itemHtml(name, held, last, depth + 1)}</li>`;
    });
    const left = entries.length - shown.length;
    if (left > 0)
      shown.push(`<li><span class="say">&hellip; ${numberHelpers.count(left)} more of ${count}</span></li>`);
    const state = depth < open ? ' open' : '';
    return `<details${state}><summary>${keyHtml(key)}${first}<span class="say"> ${count}</span></summary><ul>${shown.join('')}</ul></details>${end}${comma}`;
  }

  const region = ` role="region" tabindex="0" aria-label="${escapeHtml(label)}"`;
  const name = id === undefined ? '' : ` id="${escapeHtml(id)}"`;
  return new SafeHtml(
    `<div class="code tree" dir="ltr"${name}${region}>${itemHtml(null, value, '', 0)}</div>`,
  );
}
