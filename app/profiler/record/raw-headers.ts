/** Raw headers in Node's form: name, value, name, value … in order and original case. */

/** Headers listed at most; Node.js itself stops at 2000. */
const MOST_HEADERS = 500;

export interface NamedValue {
  name: string;
  value: string;
}

export function pairHeaders(raw: readonly string[]): NamedValue[] {
  const rows: NamedValue[] = [];
  const end = Math.min(raw.length - 1, MOST_HEADERS * 2);
  for (let i = 0; i < end; i += 2) rows.push({ name: raw[i] ?? '', value: raw[i + 1] ?? '' });
  return rows;
}

/** The first header of this lower-case name; null if there is none. */
export function rawHeader(raw: readonly string[], name: string): string | null {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const given = raw[i] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) return raw[i + 1] ?? '';
  }
  return null;
}

export function namedHeader(rows: readonly NamedValue[], name: string): string | null {
  return rows.find((row) => row.name.toLowerCase() === name)?.value ?? null;
}

/** Headers in which a sender signs the body: `X-Hub-Signature-256`, `X-Shopify-Hmac-Sha256`. */
export const SIGNATURE_HEADER = /-(?:signature|hmac)(?:-|$)/i;
