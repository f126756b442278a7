/** A recorded value in one line, coloured: `{ productId: 417, quantity: "1,200" }`; or its shape, with the type of each leaf. */
import { isRecord, type Json } from '../../profiler/json.ts';

export type Token = readonly [kind: string, text: string];

interface LineOptions {
  /** Characters; the rest is an ellipsis. */
  longest: number;
  /** The type before each leaf, and lists as their first item. */
  isTyped?: boolean;
  /** Paths of leaves that are marked: `lines.0.quantity`. */
  marked?: ReadonlySet<string>;
}

const LONGEST_TEXT = 120;
const DEEPEST = 6;
/** Values of a list in a shape. */
const MOST_ITEMS = 8;

function leafToken(value: string | number | boolean | null): Token {
  if (typeof value !== 'string') return [typeof value === 'number' ? 'd' : 'k', String(value)];
  const text = value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT).toWellFormed()}…` : value;
  return ['s', JSON.stringify(text)];
}

export function textOf(tokens: readonly Token[]): string {
  return tokens.map(([, text]) => text).join('');
}

export function valueLine(
  value: Json,
  { longest, isTyped = false, marked = new Set() }: LineOptions,
): Token[] {
  const tokens: Token[] = [];
  let length = 0;
  const isFull = (): boolean => length > longest;
  const push = (kind: string, text: string): void => {
    if (isFull()) return;
    length += text.length;
    tokens.push(isFull() ? ['', '…'] : [kind, text]);
  };

  function list(items: readonly Json[], path: string, depth: number): void {
    const [first] = items;
    // Of a shape, the first item stands for all objects, and the first few for values of one type.
    const isFolded = isTyped && items.length > 0 && items.every((item) => typeof item === typeof first);
    const isOfValues = isFolded && !isRecord(first) && !Array.isArray(first) && first !== null;
    const shown = isOfValues ? items.slice(0, MOST_ITEMS) : isFolded ? items.slice(0, 1) : items;
    push('', isFolded ? `[${items.length} × ` : '[');
    if (isOfValues) push('c', `${typeof first} `);
    shown.forEach((item, at) => {
      if (isFull()) return;
      if (at > 0) push('', ', ');
      write(item, path === '' ? String(at) : `${path}.${at}`, { depth: depth + 1, isTypeSaid: isOfValues });
    });
    push('', isOfValues && shown.length < items.length ? ', …]' : ']');
  }

  function write(
    part: Json,
    path: string,
    { depth, isTypeSaid = false }: { depth: number; isTypeSaid?: boolean },
  ): void {
    if (isFull()) return;
    if (depth > DEEPEST) push('', '…');
    else if (Array.isArray(part)) list(part, path, depth);
    else if (isRecord(part)) {
      const entries = Object.entries(part);
      push('', entries.length === 0 ? '{}' : '{ ');
      entries.forEach(([name, item], at) => {
        if (isFull()) return;
        push('', `${at > 0 ? ', ' : ''}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: `);
        write(item, path === '' ? name : `${path}.${name}`, { depth: depth + 1 });
      });
      if (entries.length > 0) push('', ' }');
    } else {
      const [kind, text] = leafToken(part);
      if (isTyped && !isTypeSaid && part !== null) push('c', `${typeof part} `);
      push(marked.has(path) ? 'u' : kind, text);
    }
  }

  write(value, '', { depth: 0 });
  return tokens;
}
