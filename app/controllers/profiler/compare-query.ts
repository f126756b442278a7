/** GET parameters of a comparison: `a` and `b`, or the boxes `t` that were checked in a list, newest first. */
import { TOKEN_PATTERN } from '../../urls.ts';
import { badFilter, readOne } from './filters.ts';

export interface CompareQuery {
  a: string | null;
  b: string | null;
  /** B is the newest other request to A's route. */
  newest: boolean;
  all: boolean;
  /** Checked boxes; only the first two are compared. */
  boxes: number;
}

/** Longer values are truncated in the error message. */
const LONGEST_BOX = 2000;

export const NEWEST = 'newest';

function checked(name: string, value: string): string | null {
  const typed = value.trim();
  if (typed === '') return null;
  const token = typed.toLowerCase();
  if (!TOKEN_PATTERN.test(token))
    throw badFilter(name, `is "${typed}"; give a token of six hexadecimal digits`);
  return token;
}

function readBoxes(query: URLSearchParams): (string | null)[] {
  return query.getAll('t').map((box) => checked('t', box.slice(0, LONGEST_BOX)));
}

export function readCompareQuery(query: URLSearchParams): CompareQuery {
  const ticked = readBoxes(query);
  const [one = null, other = null] = ticked;
  const boxes = ticked.length;
  const a = checked('a', readOne(query, 'a') ?? '');
  const second = readOne(query, 'b') ?? '';
  const newest = second === NEWEST;
  const b = newest ? null : checked('b', second);
  const all = readOne(query, 'all') === '1';
  if (one === null && other === null) return { a, b, newest, all, boxes };
  if (a !== null || second !== '') throw badFilter('t', 'can’t be combined with "a" or "b"; give one pair');
  return { a: one ?? other, b: one === null ? null : other, newest, all, boxes };
}
