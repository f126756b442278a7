/** The one writer of a recorded value in one line, coloured: `{ productId: 417, quantity: "1,200" }`. */
import { isRecord, type Json } from '../profiler/json.ts';
import type { CodeToken } from './code.ts';
import { count } from './numbers.ts';

interface LineOptions {
  longest: number;
  /** Of lists their length, the first items and the last one. */
  isShape?: boolean;
  /** Only its beginning was read: what comes last is not its last item. */
  isBeginning?: boolean;
  marked?: ReadonlySet<string>;
  /** A debugger read it: a text in brackets stands for a value that is no JSON. */
  isRead?: boolean;
}

const LONGEST_TEXT = 120;
const DEEPEST = 6;
const MOST_ITEMS = 8;
const MOST_OBJECTS = 5;
/** `, … 25 more, `. */
const ROOM_FOR_COUNT = 16;

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

function inside(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`;
}

export function valueLine(value: Json, options: LineOptions): CodeToken[] {
  return tokensOf(value, options, 0);
}

/** Measures at the depth at which it writes: else each level would measure all levels below it twice. */
function tokensOf(value: Json, options: LineOptions, from: number): CodeToken[] {
  const { isShape = false, isBeginning = false, marked = new Set() } = options;
  let { longest } = options;
  const tokens: CodeToken[] = [];
  let length = 0;
  const isFull = (): boolean => length > longest;
  const lengthOf = (item: Json | undefined, depth: number): number =>
    item === undefined ? 0 : textOf(tokensOf(item, { ...options, longest }, depth)).length;
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
    const last = isAlike || isBeginning || shown.length === items.length ? undefined : items.at(-1);
    const kept = last === undefined ? 0 : lengthOf(last, depth + 1) + ROOM_FOR_COUNT;
    const hasRoom = last !== undefined && kept * 2 < longest - length;
    if (hasRoom) longest -= kept;
    let written = 0;
    for (const item of shown) {
      if (isFull() || (hasRoom && written > 0 && length + lengthOf(item, depth + 1) > longest)) break;
      if (written > 0) push('', ', ');
      write(item, inside(path, written), depth + 1);
      written++;
    }
    if (hasRoom) {
      longest += kept;
      push('', `, … ${count(items.length - written - 1)} more, `);
      write(last, inside(path, items.length - 1), depth + 1);
      push('', ']');
      return;
    }
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
        write(item, inside(path, name), depth + 1);
      });
      if (entries.length > 0) push('', ' }');
    } else {
      const [kind, text] = leafToken(part, options);
      push(marked.has(path) ? 'u' : kind, text);
    }
  }

  write(value, '', from);
  return tokens;
}
