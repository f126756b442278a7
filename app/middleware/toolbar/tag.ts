/**
 * The script element that is inserted into a page. Its only data is the token. It loads without blocking the page, so a few lines behind it
 * keep the errors of scripts that run first (public/toolbar/reports.js); they remove their own element.
 */
import { escapeHtml } from '../../profiler/escape-html.ts';

type Policy = ReadonlyMap<string, readonly string[]>;

/** Needs no escaping in a tag. */
const NONCE = /^'nonce-([a-z0-9+/_-]+={0,2})'$/i;

function parsePolicies(text: string): Policy[] {
  return text.split(',').flatMap((serialized) => {
    const policy = new Map<string, readonly string[]>();
    for (const directive of serialized.split(';')) {
      const [name = '', ...values] = directive.trim().split(/[\t\n\f\r ]+/);
      const key = name.toLowerCase();
      const sources = values.map((value) => (NONCE.test(value) ? value : value.toLowerCase()));
      if (key !== '' && !policy.has(key)) policy.set(key, sources);
    }
    return policy.size === 0 ? [] : [policy];
  });
}

function governing(
  policy: Policy,
  names: readonly string[],
): { name: string; sources: readonly string[] } | null {
  const name = names.find((known) => policy.has(known));
  return name === undefined ? null : { name, sources: policy.get(name) ?? [] };
}

function nonceIn(source: string): string | null {
  return NONCE.exec(source)?.[1] ?? null;
}

function reachesOrigin(sources: readonly string[], origin: string | null): boolean {
  return sources.some((source) => source === "'self'" || source === '*' || source === origin);
}

function allowsScript(sources: readonly string[], origin: string | null, nonce: string | null): boolean {
  if (nonce !== null && sources.some((source) => nonceIn(source) === nonce)) return true;
  return !sources.includes("'strict-dynamic'") && reachesOrigin(sources, origin);
}

function allowsInline(sources: readonly string[], nonce: string | null): boolean {
  if (nonce !== null && sources.some((source) => nonceIn(source) === nonce)) return true;
  return (
    sources.includes("'unsafe-inline'") &&
    !sources.some((source) => /^'(?:nonce|sha\d+)-|^'strict-dynamic'/i.test(source))
  );
}

function isSandboxed(policy: Policy, without: string): boolean {
  return policy.get('sandbox')?.includes(without) === false;
}

function connects(policy: Policy, origin: string | null): boolean {
  if (isSandboxed(policy, 'allow-same-origin')) return false;
  const directive = governing(policy, ['connect-src', 'default-src']);
  return directive === null || reachesOrigin(directive.sources, origin);
}

export function judge(headers: readonly string[], origin: string | null) {
  const policies = headers.flatMap(parsePolicies);
  if (policies.some((policy) => isSandboxed(policy, 'allow-scripts')))
    return { allowed: false as const, directive: 'sandbox' };
  const directives = policies
    .map((policy) => governing(policy, ['script-src-elem', 'script-src', 'default-src']))
    .filter((directive) => directive !== null);
  const nonces = directives.flatMap(({ sources }) => sources.map(nonceIn)).filter((nonce) => nonce !== null);
  let against = 'script-src';
  for (const nonce of [...new Set(nonces), null]) {
    const blocking = directives.find(({ sources }) => !allowsScript(sources, origin, nonce));
    if (blocking === undefined)
      return {
        allowed: true as const,
        nonce,
        /** A script in the page itself, too, with the nonce if there is one. */
        inline: directives.every(({ sources }) => allowsInline(sources, nonce)),
        connects: policies.every((policy) => connects(policy, origin)),
      };
    against = blocking.name;
  }
  return { allowed: false as const, directive: against };
}

interface TagOptions {
  token: string;
  /** Address of the script, from the root; contains its content hash once that is known. */
  url: string;
  policies: readonly string[];
  origin: string | null;
}

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
