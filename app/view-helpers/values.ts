/** Variables of a frame as pages and Markdown list them: those that the message names first, then those on the line that failed. */
import { escapeRegExp } from '../profiler/escape-regexp.ts';
import type { Json } from '../profiler/json.ts';
import type { ThrownFrame } from '../profiler/record/thrown.ts';
import type { CodeToken } from './code.ts';
import { isStandIn, textOf, valueLine } from './value-line.ts';

export interface ValueRow {
  name: string;
  value: Json;
  tokens: CodeToken[];
  say: string;
  isNamed: boolean;
}

const LONGEST = 400;
const EXPRESSION =
  /^(?:[A-Za-z]*Error: )?(?:Cannot (?:access|destructure property [^ ]+ of) '([\w$.]+)'|([\w$.]+(?:\[\.\.\.\])?) is not (?:a function|iterable|a constructor|an object|async iterable))/;
/** `order.lines[0].price` */
const OBJECT = String.raw`[A-Za-z_$][\w$]*(?:(?:\?\.|!?\.)[\w$]+|\[[\w$'"]+\])*`;
const PROPERTY = /^Cannot (?:read|set) properties of (?:undefined|null) \((?:reading|setting) '(.*)'\)/s;

function lineOf({ excerpt, line }: ThrownFrame): string {
  return excerpt === null || line === null ? '' : (excerpt.lines[line - excerpt.from] ?? '');
}

/** `order.customer`, of `Cannot read properties of undefined (reading 'name')` at `order.customer.name`; null if it is not certain. */
function namedExpression(message: string, frame: ThrownFrame): string | null {
  const named = EXPRESSION.exec(message);
  if (named !== null) return named[1] ?? named[2] ?? null;
  const property = PROPERTY.exec(message)?.[1];
  if (property === undefined) return null;
  const line = lineOf(frame);
  const name = escapeRegExp(property);
  const direct = String.raw`\.${name}(?![\w$])|\[['"\`]${name}['"\`]\]`;
  const destructured = String.raw`[{,]\s*${name}\b[^}]*\}\s*=\s*(?:await\s+)?(${OBJECT})`;
  for (const pattern of [`(${OBJECT})!?(?:${direct})`, destructured, String.raw`(${OBJECT})\[[\w$.]+\]`]) {
    const found = new Set([...line.matchAll(new RegExp(pattern, 'g'))].map(([, expression]) => expression));
    const [only = null] = found;
    if (found.size > 0) return found.size === 1 ? only : null;
  }
  return null;
}

function isIn(message: string, value: Json): boolean {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (text.length < 2 || text.length > 200 || isStandIn(text)) return false;
  return new RegExp(`(?<![\\w.])${escapeRegExp(text)}(?![\\w])`).test(message);
}

export function valueText(value: Json): string {
  return textOf(tokensOf(value));
}

function tokensOf(value: Json): CodeToken[] {
  return valueLine(value, { longest: LONGEST, isRead: true });
}

function valueRows(frame: ThrownFrame, message: string, isThrower: boolean): ValueRow[] {
  const expression = isThrower ? namedExpression(message, frame) : null;
  const root = /^[\w$]+/.exec(expression ?? '')?.[0] ?? null;
  const line = lineOf(frame);
  const rows = Object.entries(frame.values ?? {}).map(([name, given]): ValueRow & { rank: number } => {
    const isNamed = name === root;
    // The message says that it is.
    const isUnset =
      given === '[undefined, or not set yet]' && expression === name && message.includes('undefined');
    const value = isUnset ? '[undefined]' : given;
    const isQuoted = !isNamed && isIn(message, value);
    const say = !isNamed
      ? isQuoted
        ? 'in the message'
        : ''
      : expression === root
        ? 'named by the message'
        : `the message is about ${expression}`;
    const isOnLine = new RegExp(`(?<![\\w$.])${escapeRegExp(name)}(?![\\w$])`).test(line);
    const isFunction = typeof value === 'string' && value.startsWith('[function ');
    const rank = isNamed ? 0 : isQuoted ? 1 : isFunction ? 4 : isOnLine ? 2 : 3;
    return { name, value, tokens: tokensOf(value), say, isNamed, rank };
  });
  return rows.sort((a, b) => a.rank - b.rank).map(({ rank: _rank, ...row }) => row);
}

export const valueHelpers = { valueRows } as const;
