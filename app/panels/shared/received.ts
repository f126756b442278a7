/** Values that a request brought: of its path, query, form and body. */
import type { Json } from '../../profiler/json.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import { type Leaf, leavesOf } from './json-leaves.ts';

interface Pair {
  name: string;
  value: Json;
}

export interface ReceivedRecord {
  query?: readonly Pair[] | undefined;
  routeParams?: readonly Pair[] | undefined;
  body?: { fields: readonly Pair[] | null; parsed?: Json | undefined } | null | undefined;
  sessionAndUser?: { session?: Json; user?: Json } | null | undefined;
}

export interface ReceivedField {
  name: string;
  from: 'path' | 'query' | 'form' | 'body';
  path: string;
  value: Leaf['value'];
}

const MOST = 2000;

export function receivedFields({ query, routeParams, body }: ReceivedRecord): ReceivedField[] {
  const pairs = (list: readonly Pair[] | null | undefined, from: ReceivedField['from']): ReceivedField[] =>
    (list ?? []).flatMap(({ name, value }) =>
      leavesOf(value, MOST).map((leaf) => ({
        name: leaf.name || name,
        from,
        path: leaf.path === '' ? name : `${name}.${leaf.path}`,
        value: leaf.value,
      })),
    );
  const parsed = body?.parsed === undefined ? [] : leavesOf(body.parsed, MOST);
  return [
    ...pairs(routeParams, 'path'),
    ...pairs(query, 'query'),
    ...pairs(body?.fields, 'form'),
    ...parsed.map((leaf) => ({ ...leaf, from: 'body' as const })),
  ];
}

export function receivedBy(
  { url }: Pick<ProfileHead, 'url'>,
  { request = {} }: { request?: unknown },
): Set<string> {
  const record = request as ReceivedRecord;
  const { session = null, user = null } = record.sessionAndUser ?? {};
  const values = [...receivedFields(record), ...leavesOf([session, user], MOST)].map(({ value }) =>
    String(value),
  );
  return new Set([...url.split(/[/?&=,]/).map((part) => decodeSafely(part)), ...values]);
}

export function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
