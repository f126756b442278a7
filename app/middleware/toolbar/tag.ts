/**
 * The script element that is inserted into a page. Its only data is the token. It loads without blocking the page, so a few lines behind it
 * keep the errors of scripts that run first (public/toolbar/reports.js); they remove their own element.
 */
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

const EARLY = `(()=>{let e=[],t=["error","unhandledrejection"],k=v=>{20>e.length&&e.push(v)};t.map(n=>addEventListener(n,k,!0));addEventListener("hindsight-early",v=>{t.map(n=>removeEventListener(n,k,!0));v.detail(e)},{once:!0});document.currentScript.remove()})()`;

export function makeTag({ token, url, policies, origin }: TagOptions): MadeTag {
  const verdict = judge(policies, origin);
  if (!verdict.allowed) return { against: verdict.directive };
  const nonce = attribute('nonce', verdict.nonce);
  const attributes =
    attribute('src', url) +
    attribute('data-token', token) +
    nonce +
    attribute('data-connect', verdict.connects ? null : 'no');
  const early = verdict.inline ? `<script${nonce}>${EARLY}</script>` : '';
  return { tag: `<script async${attributes} data-hindsight></script>${early}` };
}
