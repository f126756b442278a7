/** The script element that is inserted into a page. Its only data is the token. */
import { escapeHtml } from '../../profiler/escape-html.ts';
import { judge } from './policy.ts';

export interface TagOptions {
  token: string;
  /** Address of the script, from the root; contains its content hash once that is known. */
  url: string;
  /** Policies in the response's headers. */
  policies: readonly string[];
  /** Origin of the request, as the client sees it. */
  origin: string | null;
}

/** Returns the element, or the directive of a policy that forbids it. */
export type MadeTag = { tag: string } | { against: string };

function attribute(name: string, value: string | null): string {
  if (value === null) return '';
  return ` ${name}="${escapeHtml(value)}"`;
}

export function makeTag({ token, url, policies, origin }: TagOptions): MadeTag {
  const verdict = judge(policies, origin);
  if (!verdict.allowed) return { against: verdict.directive };
  const attributes =
    attribute('src', url) +
    attribute('data-token', token) +
    attribute('nonce', verdict.nonce) +
    attribute('data-connect', verdict.connects ? null : 'no');
  return { tag: `<script async${attributes} data-hindsight></script>` };
}
