/** Queries of stored profiles, and their results. */
import type { TextPlace } from './find-text.ts';
import type { ProfileKind } from '../record/context.ts';
import type { ProfileIndex, SortColumn } from './profile-index.ts';

/** Text that many profiles refer to, such as the table of routes; stored once. */
export interface SharedPart {
  id: string;
  text: string;
}

/** Statuses from the one to the other, both included. */
export interface StatusRange {
  from: number;
  to: number;
}

export interface ProfileQuery {
  /** Default: `request` only, without error pages and the profiler's own pages. */
  kinds?: readonly ProfileKind[];
  token?: string;
  /** Children of this profile. */
  parent?: string;
  clientAddress?: string;
  /** Case-insensitive; several, separated by commas, mean any of them. */
  method?: string;
  /** In any of these ranges. */
  status?: readonly StatusRange[];
  /** Substring of the URL, case-insensitive; no wildcards. */
  url?: string;
  /** Milliseconds since 1970, inclusive. */
  from?: number;
  /** Exclusive. */
  until?: number;
  /** Milliseconds since 1970: it ended later, or still runs. */
  endsAfter?: number;
  overMs?: number;
  /** Took less than this; unfinished requests are left out. */
  underMs?: number;
  /** At least so many queries. */
  minQueries?: number;
  /** Fewer queries than this. */
  fewerQueries?: number;
  /** True: something was thrown or the status is 5xx; false: neither. */
  hasError?: boolean;
  /** True: a style sheet, script, image or other asset of a page; false: none. */
  isAsset?: boolean;
  /** True: recorded in full; false: only a summary was recorded. */
  isFull?: boolean;
  /** True: it has findings; false: it has none. */
  hasFinding?: boolean;
  /** False: its findings are not known yet. */
  isLabelled?: boolean;
  /** Part of the label of one of its worst findings, case-insensitive. */
  mark?: string;
  /** True: only pinned ones. */
  pinned?: boolean;
  /**
   * Occurs in the URL, in the thrown error or in one of the `searched` fields, case-insensitive. Only the newest profiles are
   * searched, as far as `FindResult.looked` says, and the result is newest first whatever `sort` says.
   */
  text?: string;
  process?: string;
  /** As stored; of a commit, the first seven digits are enough. */
  release?: string;
  /** Pattern of the route, exactly. */
  route?: string;
  /** 32 hexadecimal digits. */
  traceId?: string;
  /** None of these matches. */
  not?: readonly Partial<ProfileQuery>[];
  sort?: SortColumn;
  descending?: boolean;
  /** False: `total` and pins are not needed; `total` is then the number of rows found. */
  counted?: false;
  /** 1 to 1000. */
  limit: number;
  offset: number;
}

export interface FindResult {
  rows: ProfileIndex[];
  /** Number of matching profiles; above 2,000 it may be an estimate. */
  total: number;
  /** False if `total` is an estimate, or a search for text did not look through all. */
  totalIsExact: boolean;
  pinned?: readonly string[];
  looked?: TextSearch;
}

export interface TextSearch {
  /** Profiles searched, of those that match all other filters. */
  count: number;
  all: boolean;
  /** When the oldest profile searched started; null if there is none. */
  oldest: number | null;
  /** Where the text occurs, by token. */
  found: Readonly<Record<string, TextPlace>>;
}

export interface CountsAndHistogramQuery {
  counts: readonly ProfileQuery[];
  /** Requests over time: matches of `query` from `from` until `until`, in `parts` equal parts. */
  histogram?: { query: ProfileQuery; from: number; until: number; parts: number };
}

export interface CountsAndHistogram {
  /** Matches of each search, at most MOST_COUNTED + 1; null if counting took too long. */
  counts: readonly (number | null)[];
  histogram: {
    /** `errors`: responses with 5xx, and requests that threw without a 4xx response. `full`: recorded in full. */
    parts: { count: number; errors: number; full: number }[];
    /** All requests since this moment are counted; later than `from` if there are too many. */
    since: number;
  } | null;
}

/** Matches are counted exactly up to this number. */
export const MOST_COUNTED = 2000;
/** A histogram counts at most so many requests, the newest. */
export const MOST_IN_HISTOGRAM = 50_000;
