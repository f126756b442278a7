/** The script element that is inserted into a page. Its only data is the token. */
import { escapeHtml } from '../../profiler/escape-html.ts';
import { judge } from './policy.ts';

/** The script as it is served. */
export interface ServedScript {
  /** Origin-relative; contains the content hash once that is known. */
  url: string;
  /** `sha256-…`; null while unknown. */
  integrity: string | null;
}

export interface TagOptions {
  token: string;
  script: ServedScript;
  /** Policies in the response's headers. */
  policies: readonly string[];
  /** Origin of the request, as the client sees it. */
  origin: string | null;
  localsNonce: string | null;
}

/** Returns the element, or the directive of a policy that forbids it. */
export type MadeTag = { tag: string } | { against: string };

function attribute(name: string, value: string | null): string {
  if (value === null) return '';
  return ` ${name}="${escapeHtml(value)}"`;
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
