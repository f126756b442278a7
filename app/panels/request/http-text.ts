/** Bytes and raw header lists of a request -> what can be read: rows of headers, text where the type says it is text. */

export interface NamedValue {
  name: string;
  value: string;
}

/** Most headers a page lists; Node itself stops at 2000. */
const MOST_HEADERS = 500;
const TEXT_TYPES =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|ecmascript|graphql|sql|x-ndjson|ndjson|toml|x-www-form-urlencoded|x-sh|csp-report|reports)|image\/svg\+xml|multipart\/.+|message\/.+)$/;

/** Name, value, name, value … -> rows, in order, with true case. */
export function pairHeaders(rawHeaders: readonly string[]): NamedValue[] {
  const rows: NamedValue[] = [];
  for (let i = 0; i + 1 < rawHeaders.length && rows.length < MOST_HEADERS; i += 2)
    rows.push({ name: rawHeaders[i] ?? '', value: rawHeaders[i + 1] ?? '' });
  return rows;
}

/** The first header of this name; null where none was sent. */
export function headerValue(headers: readonly NamedValue[], name: string): string | null {
  return headers.find((row) => row.name.toLowerCase() === name)?.value ?? null;
}

/** `text/html` of `Text/HTML; charset=utf-8`; empty where there is none. */
export function mediaTypeOf(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function charsetOf(contentType: string | null): string {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
}

/** The text of a preview; null for what is no text, for compressed bytes, and for an empty one. */
export function decodePreview(
  preview: Buffer,
  { contentType, encoding }: { contentType: string | null; encoding: string | null },
): string | null {
  if (preview.length === 0 || !TEXT_TYPES.test(mediaTypeOf(contentType))) return null;
  if (encoding !== null && !/^\s*(?:identity)?\s*$/i.test(encoding)) return null;
  try {
    // As a stream: a character cut in two at the end of the preview is left out.
    return new TextDecoder(charsetOf(contentType)).decode(preview, { stream: true });
  } catch {
    return new TextDecoder().decode(preview, { stream: true });
  }
}
