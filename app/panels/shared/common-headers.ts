/**
 * Response headers that most responses of an application have (policies, caching, the connection) are stored once: they are a third of a plain
 * profile. Only headers of a fixed list are shared, because secrets that a client sent are masked per profile, and only from the second time
 * that the same headers are sent in the same order.
 */
import { type NamedValue, pairHeaders } from '../../profiler/raw-headers.ts';

/** The headers of a response in order; null for one that is stored in the profile. */
export interface CommonHeaders {
  headers: (NamedValue | null)[];
}

/** The headers stored in the profile, with null in place of a shared one, because masked values are addressed by position. */
export type OwnHeaders = (NamedValue | null)[];

export interface SplitHeaders {
  /** null: all are stored in the profile. */
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
/** Responses known as a whole: the next one usually has the same shared headers. */
const MOST_FORMS = 8;
/** Maximum different lists; an application has a few. */
const MOST_LISTS = 200;
const MOST_SEEN = 500;

/** The form of a response that has these shared headers. */
interface Form {
  names: string[];
  /** Of the shared ones; null for the others, which may differ. */
  values: (string | null)[];
  common: CommonHeaders;
}

function fits({ names, values }: Form, raw: readonly string[]): boolean {
  if (raw.length !== names.length * 2) return false;
  for (let i = 0; i < names.length; i++) {
    if (raw[2 * i] !== names[i]) return false;
    if (values[i] !== null && raw[2 * i + 1] !== values[i]) return false;
  }
  return true;
}

function ownOf({ names, values }: Form, raw: readonly string[]): OwnHeaders {
  return names.map((name, i) => (values[i] === null ? { name, value: raw[2 * i + 1] ?? '' } : null));
}

export function createHeaderSplit(): (raw: readonly string[]) => SplitHeaders {
  const names = new Map<string, boolean>();
  const lists = new Map<string, CommonHeaders>();
  const seen = new Set<string>();
  const forms: Form[] = [];

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

  function split(raw: readonly string[]): SplitHeaders {
    const rows = pairHeaders(raw);
    let key = '';
    const own = rows.map((row) => {
      const common = isCommon(row.name, row.value);
      key += common ? `${row.name}:${row.value}\n` : '\n';
      return common ? null : row;
    });
    const common = own.includes(null) ? listOf(key, rows) : null;
    return common === null ? { common, own: rows } : { common, own };
  }

  /** Stores no form if a listed header has a value that can't be shared: with another value it could be. */
  function remember(raw: readonly string[], { common, own }: SplitHeaders): void {
    if (common === null || own.some((row) => row !== null && isCommonName(row.name))) return;
    if (raw.length !== own.length * 2) return;
    const names = own.map((_row, i) => raw[2 * i] ?? '');
    const values = own.map((row, i) => (row === null ? (raw[2 * i + 1] ?? '') : null));
    forms.unshift({ names, values, common });
    if (forms.length > MOST_FORMS) forms.pop();
  }

  return (raw) => {
    const form = forms.find((each) => fits(each, raw));
    if (form !== undefined) return { common: form.common, own: ownOf(form, raw) };
    const result = split(raw);
    remember(raw, result);
    return result;
  };
}

/** The headers as sent, without those that are no longer stored. */
export function mergeHeaders(own: OwnHeaders, shared: unknown): NamedValue[] {
  const common = (shared as CommonHeaders | null)?.headers ?? [];
  return own.flatMap((row, index) => row ?? common[index] ?? []);
}
