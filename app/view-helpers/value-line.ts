/** The one writer of a recorded value in one line, coloured: `{ productId: 417, quantity: "1,200" }`. */
import { isRecord, type Json } from '../profiler/json.ts';
import type { CodeToken } from './code.ts';

interface LineOptions {
  longest: number;
  /** Of lists their length and the first items. */
  isShape?: boolean;
  marked?: ReadonlySet<string>;
  /** A debugger read it: a text in brackets stands for a value that is no JSON. */
  isRead?: boolean;
}

const LONGEST_TEXT = 120;
const DEEPEST = 6;
const MOST_ITEMS = 8;
const MOST_OBJECTS = 5;

/** Texts that stand for values outside of JSON. */
const IN_BRACKETS =
  /^\[(?:undefined|not set yet|undefined, or not set yet|circular|getter|function .*|symbol .*|Proxy, not read|Promise|.*, not followed|.*, unreadable|.*, \d+ bytes|[A-Z]\w*)\]$/;

/** Whether it stands for a value that is no JSON, or is masked. */
export function isStandIn(text: string): boolean {
  return IN_BRACKETS.test(text) || text.startsWith('[masked ');
}

function leafToken(
  value: string | number | boolean | null,
  { longest, isRead = false }: LineOptions,
): CodeToken {
  if (typeof value !== 'string') return [typeof value === 'number' ? 'd' : 'k', String(value)];
  if (isRead && value.startsWith('[masked ')) return ['c', value];
  if (isRead && IN_BRACKETS.test(value))
    return [value.startsWith('[undefined') ? 'k' : 'c', value.slice(1, -1)];
  const most = Math.min(LONGEST_TEXT, longest - 3);
  const text = value.length > most ? `${value.slice(0, most).toWellFormed()}…` : value;
  return ['s', JSON.stringify(text)];
}

export function textOf(tokens: readonly CodeToken[]): string {
  return tokens.map(([, text]) => text).join('');
}

export function valueLine(value: Json, options: LineOptions): CodeToken[] {
  const { longest, isShape = false, marked = new Set() } = options;
  const tokens: CodeToken[] = [];
  let length = 0;
  const isFull = (): boolean => length > longest;
  const push = (kind: string, text: string): void => {
    if (isFull()) return;
    length += text.length;
    const cut: CodeToken = tokens.length === 0 ? [kind, `${text.slice(0, longest)}…`] : ['', '…'];
    tokens.push(isFull() ? cut : [kind, text]);
  };

  function list(items: readonly Json[], path: string, depth: number): void {
    const [first] = items;
    const isFolded = isShape && items.length > 0 && items.every((item) => typeof item === typeof first);
    const isOfValues = isFolded && !isRecord(first) && !Array.isArray(first) && first !== null;
    const isAlike = isFolded && items.every((item) => JSON.stringify(item) === JSON.stringify(first));
    const most = isOfValues ? MOST_ITEMS : isAlike ? 1 : MOST_OBJECTS;
    // A single item more is hardly longer than that it is left out.
    const isWhole = !isFolded || (!isAlike && items.length <= most + 1);
    const shown = isWhole ? items : items.slice(0, most);
    const many = isAlike ? `${items.length} × ` : `${items.length} items: `;
    push('', isFolded && !isOfValues && items.length > 1 ? `[${many}` : '[');
    shown.forEach((item, at) => {
      if (isFull()) return;
      if (at > 0) push('', ', ');
      write(item, path === '' ? String(at) : `${path}.${at}`, depth + 1);
    });
    const left = shown.length < items.length;
    push('', left && isOfValues ? `, … ${items.length} in all]` : left && !isAlike ? ', …]' : ']');
  }

  function write(part: Json, path: string, depth: number): void {
    if (isFull()) return;
    if (depth > DEEPEST) push('', '…');
    else if (Array.isArray(part)) list(part, path, depth);
    else if (isRecord(part)) {
      const entries = Object.entries(part);
      push('', entries.length === 0 ? '{}' : '{ ');
      entries.forEach(([name, item], at) => {
        if (isFull()) return;
        push('', `${at > 0 ? ', ' : ''}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: `);
        write(item, path === '' ? name : `${path}.${name}`, depth + 1);
      });
      if (entries.length > 0) push('', ' }');
    } else {
      const [kind, text] = leafToken(part, options);
      push(marked.has(path) ? 'u' : kind, text);
    }
  }

  write(value, '', 0);
  return tokens;
}
