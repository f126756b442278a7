/** Searches profiles in memory; postgres-find, postgres-text and postgres-counts do the same in PostgreSQL. */
import { findText, type TextPlace } from '../profiler/find-text.ts';
import { compareNewest, matcherOf, orderOf } from '../profiler/query-rows.ts';
import {
  type FindResult,
  MOST_COUNTED,
  MOST_IN_HISTOGRAM,
  type ProfileQuery,
  type StoredProfile,
  type CountsAndHistogram,
  type CountsAndHistogramQuery,
} from '../profiler/storage.ts';

/** A profile with its amendments (JSON by name). Each call of `document` decodes it again. */
export interface Entry extends StoredProfile {
  /** Version of the document. */
  version: string;
  amendments: Map<string, string>;
}

const MOST_LOOKED = 5000;

export function isPinned({ amendments }: Entry): boolean {
  const pin = amendments.get('pin') ?? 'null';
  return pin !== 'null' && pin !== 'false';
}

function matching(entries: Iterable<Entry>, query: ProfileQuery): Entry[] {
  const matches = matcherOf(query);
  return [...entries].filter((entry) => matches(entry.index) && (query.pinned !== true || isPinned(entry)));
}

function search(
  entries: readonly Entry[],
  { text = '', searched = {} }: ProfileQuery,
): { hits: Entry[]; found: Map<string, TextPlace> } {
  const found = new Map<string, TextPlace>();
  for (const { index, document } of entries) {
    const place = findText(document, text, searched);
    if (place !== null) found.set(index.token, place);
  }
  return { hits: entries.filter(({ index }) => found.has(index.token)), found };
}

export function findEntries(entries: Iterable<Entry>, query: ProfileQuery): FindResult {
  const compare = orderOf(query);
  const sorted = matching(entries, query).sort((a, b) => compare(a.index, b.index));
  const looked = query.text === undefined ? null : sorted.slice(0, MOST_LOOKED);
  const { hits, found } =
    looked === null ? { hits: sorted, found: new Map<string, TextPlace>() } : search(looked, query);
  const page = hits.slice(query.offset, query.offset + query.limit);
  const all = looked === null || looked.length === sorted.length;
  const pinned = page.filter(isPinned).map(({ index }) => index.token);
  return {
    rows: page.map(({ index }) => ({ ...index })),
    total: hits.length,
    totalIsExact: all,
    ...(pinned.length === 0 ? {} : { pinned }),
    ...(looked === null
      ? {}
      : {
          looked: {
            count: looked.length,
            all,
            oldest: looked.at(-1)?.index.startedAt ?? null,
            found: Object.fromEntries(
              [...found].filter(([token]) => page.some(({ index }) => index.token === token)),
            ),
          },
        }),
  };
}

function histogramOf(
  entries: Iterable<Entry>,
  { query, from, until, parts }: NonNullable<CountsAndHistogramQuery['histogram']>,
): CountsAndHistogram['histogram'] {
  const width = Math.max(1, Math.ceil((until - from) / parts));
  const taken = matching(entries, { ...query, from: Math.max(from, query.from ?? 0), until })
    .map(({ index }) => index)
    .sort(compareNewest)
    .slice(0, MOST_IN_HISTOGRAM);
  const drawn = Array.from({ length: parts }, () => ({ count: 0, errors: 0 }));
  for (const { startedAt, status, error } of taken) {
    const part = drawn[Math.floor((startedAt - from) / width)];
    if (part === undefined) continue;
    part.count++;
    const refused = status !== null && status >= 400 && status < 500;
    if ((status ?? 0) >= 500 || (error !== null && !refused)) part.errors++;
  }
  const oldest = taken.at(-1)?.startedAt ?? from;
  return { parts: drawn, since: taken.length === MOST_IN_HISTOGRAM ? oldest : from };
}

export function countEntries(
  entries: Iterable<Entry>,
  { counts, histogram }: CountsAndHistogramQuery,
): CountsAndHistogram {
  const all = [...entries];
  return {
    counts: counts.map((query) => Math.min(MOST_COUNTED + 1, matching(all, query).length)),
    histogram: histogram === undefined ? null : histogramOf(all, histogram),
  };
}
