/** What the conditions of a statement ask for. */
import { type Comparison, givenValue, type StatementValue } from '../../panels/shared/read-statement.ts';
import type { Query } from './kept.ts';
import { PRIMARY, type Read, textOf } from './queries.ts';
import type { KeptRequest } from '../../panels/request/data.ts';
import { singular } from './wording.ts';

/** What a value of the statement's text was, as a text; null: no text or number, or not known. */
export function givenText(value: StatementValue | undefined, { bindings }: Query): string | null {
  return textOf(givenValue(value, bindings));
}

export function textsIn({ values }: Comparison, query: Query): string[] {
  return values.flatMap((value) => givenText(value, query) ?? []);
}

/** Values of the parameters of the path. */
export function routeValues({ routeParams }: KeptRequest): Set<string> {
  return new Set(routeParams.flatMap(({ value }) => textOf(value) ?? []).filter((text) => text !== ''));
}

/** Columns that say whose a row is. */
export const OWNER =
  /^(?:owner|user|tenant|account|client|customer|member|patient|author|branch|org|organi[sz]ation|company|workspace|team|shop|store)(?:_?id)?$/i;

/** Whether the statement is about the row with this key. */
export function asksForKey({ read, query }: Read, key: string): boolean {
  return (read.where ?? []).some(
    (one) => PRIMARY.test(one.column) && one.operator === '=' && textsIn(one, query)[0] === key,
  );
}

/** The condition that one of these keys is equal to a column. */
export function keyedBy({ query, read }: Read, keys: ReadonlySet<string>): Comparison | undefined {
  return read.where?.find(
    (one) => one.operator === '=' && textsIn(one, query).some((value) => keys.has(value)),
  );
}

/** Parameters of a path, each with the segment before it: `notes` of `/cases/:caseId/notes/:noteId`. */
export function namedIds(route: string | null, { routeParams }: KeptRequest) {
  const segments = (route ?? '').split('/');
  return routeParams.flatMap(({ name, value }) => {
    const at = segments.indexOf(`:${name}`);
    const of = singular(segments[at - 1] ?? '');
    const id = textOf(value);
    return at < 1 || of === '' || id === null
      ? []
      : [{ id, of, column: PRIMARY.test(name) ? `${of}id` : name }];
  });
}
