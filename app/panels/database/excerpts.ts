/**
 * Which lines of the application are kept with the queries that they sent: those that loop, are slow, or failed. Taken when
 * the request is recorded, since the file may be another one when somebody looks; of all other queries the place is enough.
 */
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import type { DatabaseGroup, DatabaseQuery } from './index.ts';

export interface KeptExcerpt {
  /** `src/orders/order-view.ts:41`. */
  place: string;
  excerpt: SourceExcerpt;
}

const MOST_EXCERPTS = 5;

export interface ExcerptsOptions {
  queries: readonly DatabaseQuery[];
  groups: readonly DatabaseGroup[];
  slowMs: number;
  excerptAt: (place: string) => SourceExcerpt | null;
}

export function takeExcerpts({ queries, groups, slowMs, excerptAt }: ExcerptsOptions): KeptExcerpt[] {
  const loops = groups.filter(({ kind }) => kind !== 'duplicate').sort((a, b) => b.durationMs - a.durationMs);
  const worries = queries.filter(
    ({ durationMs, error }) => error !== null || (durationMs !== null && durationMs >= slowMs),
  );
  if (loops.length === 0 && worries.length === 0) return [];
  const places = new Set([...loops, ...worries].flatMap(({ caller }) => caller ?? []));
  return [...places].slice(0, MOST_EXCERPTS).flatMap((place) => {
    const excerpt = excerptAt(place);
    return excerpt === null ? [] : { place, excerpt };
  });
}
