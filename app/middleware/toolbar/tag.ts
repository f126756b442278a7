/** The script element that a page gets: no data in it but the token. */
import { judge } from './policy.ts';

/** The script as it is served. */
export interface ServedScript {
  /** Origin-relative; with the hash of its content as soon as that is known. */
  url: string;
  /** `sha256-…`; null where it is not known yet. */
  integrity: string | null;
}

export interface TagOptions {
  token: string;
  script: ServedScript;
  /** Policies in the response's headers. */
  policies: readonly string[];
  /** Of the request, as the client sees it. */
  origin: string | null;
  localsNonce: string | null;
}

/** The element, or the directive of a policy that forbids it. */
export type MadeTag = { tag: string } | { against: string };

function attribute(name: string, value: string | null): string {
  if (value === null) return '';
  return ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`;
}

export function makeTag({ token, script, policies, origin, localsNonce }: TagOptions): MadeTag {
  const [path = ''] = script.url.split('?', 1);
  const verdict = judge(policies, { origin, path, integrity: script.integrity, localsNonce });
  if (!verdict.allowed) return { against: verdict.directive };
  const attributes =
    attribute('src', script.url) +
    attribute('data-token', token) +
    attribute('nonce', verdict.nonce) +
    attribute('integrity', verdict.integrity) +
    attribute('data-connect', verdict.connects ? null : 'no');
  return { tag: `<script async${attributes} data-hindsight></script>` };
}
