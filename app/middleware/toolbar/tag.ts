/** The one script element that a page gets: no data in it but the token. */
import type { AskedScript } from './policy.ts';
import { isNonce, judge } from './policy.ts';

/** The script as it is served. */
export interface ServedScript {
  /** Origin-relative; with the hash of its content as soon as that is known. */
  url: string;
  /** `sha256-…`; null where it is not known yet. */
  integrity: string | null;
}

export interface TagQuestion {
  token: string;
  script: ServedScript;
  /** Policies sent as headers. */
  sent: readonly string[];
  /** Policies in the document. */
  metas: readonly string[];
  /** `<base href>` of the document. */
  base: string | null;
  /** Of the request, as the client sees it. */
  origin: string | null;
  spareNonce: string | null;
}

export type MadeTag = { tag: string } | { against: string };

function attribute(name: string, value: string): string {
  return ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`;
}

/** Where the script is asked for: a page whose base is another origin needs the whole address; null where that is not known. */
function addressIn(
  base: string | null,
  { url, origin }: { url: string; origin: string | null },
): string | null {
  const text = base?.replace(/[\t\n\r]/g, '').trim() ?? '';
  if (!/^(?:[a-z][a-z0-9+.-]*:|[\\/]{2})/i.test(text)) return url;
  if (origin === null) return null;
  return URL.canParse(text, origin) && new URL(text, origin).origin === origin ? url : `${origin}${url}`;
}

/** The element, or what stands against it. */
export function makeTag(question: TagQuestion): MadeTag {
  const { token, script, sent, metas, base, origin, spareNonce } = question;
  const src = addressIn(base, { url: script.url, origin });
  if (src === null) return { against: 'base' };
  const [path = ''] = script.url.split('?', 1);
  const asked: AskedScript = { origin, path, integrity: script.integrity, spareNonce };
  const verdict = judge(sent, metas, asked);
  if (!verdict.allowed) return { against: verdict.directive };
  const { nonce, integrity, connects } = verdict;
  const more =
    (nonce !== null && isNonce(nonce) ? attribute('nonce', nonce) : '') +
    (integrity === null ? '' : attribute('integrity', integrity)) +
    (connects ? '' : attribute('data-connect', 'no'));
  const tag = `<script async${attribute('src', src)}${attribute('data-token', token)}${more} data-hindsight></script>`;
  return { tag };
}

/** The same element in exactly as many bytes; null where it needs more. */
export function stretchTag(tag: string, length: number): string | null {
  const end = '></script>';
  if (tag.length > length) return null;
  return tag.slice(0, -end.length) + ' '.repeat(length - tag.length) + end;
}
