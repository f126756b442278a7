/**
 * Response headers that an application sends with most of its answers: policies, caching, the connection. They are a third
 * of a plain profile and say the same each time, so that they are stored once.
 *
 * Only headers of a fixed list are shared, since what a client gave as a secret is masked in each profile on its own, and
 * only from the second time on that the same ones are sent, in the same order.
 */
import { type NamedValue, pairHeaders } from '../../profiler/raw-headers.ts';

/** The headers of an answer in order; null stands for one that the profile keeps itself. */
export interface CommonHeaders {
  headers: (NamedValue | null)[];
}

/** What the profile keeps, with null where a common one stood: what is masked is known by its place. */
export type OwnHeaders = (NamedValue | null)[];

export interface SplitHeaders {
  /** null: all are kept by the profile. */
  common: CommonHeaders | null;
  own: OwnHeaders;
}

const COMMON = new Set([
  'accept-ranges', 'access-control-allow-credentials', 'access-control-allow-headers', 'access-control-allow-methods',
  'cache-control', 'connection', 'content-language', 'content-security-policy', 'content-security-policy-report-only',
  'content-type', 'cross-origin-embedder-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy', 'keep-alive',
  'origin-agent-cluster', 'permissions-policy', 'referrer-policy', 'strict-transport-security', 'transfer-encoding', 'vary',
  'x-content-type-options', 'x-dns-prefetch-control', 'x-download-options', 'x-frame-options',
  'x-permitted-cross-domain-policies', 'x-powered-by', 'x-xss-protection',
]); // prettier-ignore
/** Different lists remembered; an application has a few. */
const MOST_LISTS = 200;
const MOST_SEEN = 500;

export function createHeaderSplit(): (raw: readonly string[]) => SplitHeaders {
  const names = new Map<string, boolean>();
  const lists = new Map<string, CommonHeaders>();
  const seen = new Set<string>();

  function isCommonName(name: string): boolean {
    const known = names.get(name);
    if (known !== undefined) return known;
    const is = COMMON.has(name.toLowerCase());
    if (names.size < MOST_SEEN) names.set(name, is);
    return is;
  }

  function isCommon(name: string, value: string): boolean {
    return isCommonName(name) && !value.includes("'nonce-");
  }

  function listOf(key: string, rows: readonly NamedValue[]): CommonHeaders | null {
    const known = lists.get(key);
    if (known !== undefined) return known;
    if (!seen.has(key) || lists.size >= MOST_LISTS) {
      if (seen.size >= MOST_SEEN) seen.clear();
      seen.add(key);
      return null;
    }
    const made = { headers: rows.map((row) => (isCommon(row.name, row.value) ? row : null)) };
    lists.set(key, made);
    return made;
  }

  return (raw) => {
    const rows = pairHeaders(raw);
    let key = '';
    const own = rows.map((row) => {
      const common = isCommon(row.name, row.value);
      key += common ? `${row.name}:${row.value}\n` : '\n';
      return common ? null : row;
    });
    const common = own.includes(null) ? listOf(key, rows) : null;
    return common === null ? { common, own: rows } : { common, own };
  };
}

/** The headers as they were sent; without those that are stored no more. */
export function mergeHeaders(own: OwnHeaders, shared: unknown): NamedValue[] {
  const common = (shared as CommonHeaders | null)?.headers ?? [];
  return own.flatMap((row, index) => row ?? common[index] ?? []);
}
