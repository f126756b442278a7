/** GET parameters of a comparison: `a` and `b`, or the two boxes `t` that were checked in a list. */
import { createError } from '../../errors.ts';
import { TOKEN_PATTERN } from '../../urls.ts';
import { readOne } from './filters.ts';

export interface CompareQuery {
  a: string | null;
  b: string | null;
  /** Also what is alike. */
  all: boolean;
}

function bad(name: string, problem: string): Error {
  return createError('BAD_FILTER', [name, problem]);
}

function checked(name: string, value: string): string | null {
  const token = value.trim().toLowerCase();
  if (token === '') return null;
  if (!TOKEN_PATTERN.test(token))
    throw bad(name, `is "${token.slice(0, 40)}"; give a token of six hexadecimal digits`);
  return token;
}

function readBoxes(query: URLSearchParams): (string | null)[] {
  const boxes = query.getAll('t');
  if (boxes.length > 2) throw bad('t', `is given ${boxes.length} times; two requests are compared`);
  return boxes.map((value) => checked('t', value));
}

export function readCompareQuery(query: URLSearchParams): CompareQuery {
  const [first = null, second = null] = readBoxes(query);
  const a = checked('a', readOne(query, 'a') ?? '');
  const b = checked('b', readOne(query, 'b') ?? '');
  const all = readOne(query, 'all') === '1';
  if (first === null && second === null) return { a, b, all };
  if (a !== null || b !== null) throw bad('t', 'stands beside "a" or "b"; give one pair');
  return { a: first ?? second, b: first === null ? null : second, all };
}
