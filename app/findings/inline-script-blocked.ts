/** The page has an inline script that its own Content-Security-Policy does not allow: browsers don't run it. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, mediaType, nameOfLayer, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { count } from './shared/wording.ts';

const HASH = /'sha(?:256|384|512)-/i;
const NONCE = /'nonce-([^']+)'/gi;
const ALLOWS = /'unsafe-inline'/i;
/** A type that browsers run; JSON-LD and templates are data. */
const DATA_TYPE = /\btype\s*=\s*["']?(?!module\b|text\/javascript\b|application\/javascript\b)[a-z]/i;

/** Values of the directive that decides about inline scripts; null if none does. */
function scriptSource(policy: string): string | null {
  const directives = new Map<string, string>();
  for (const part of policy.split(';')) {
    const text = part.trim();
    const name = text.split(/\s/, 1)[0]?.toLowerCase() ?? '';
    if (!directives.has(name)) directives.set(name, text.slice(name.length));
  }
  return (
    directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src') ?? null
  );
}

/** Number of inline scripts that have none of the nonces. */
function blockedIn(html: string, nonces: readonly string[]): number {
  let blocked = 0;
  for (let at = html.indexOf('<script'); at !== -1; at = html.indexOf('<script', at + 7)) {
    const end = html.indexOf('>', at);
    const tag = end === -1 ? '' : html.slice(at + 7, end);
    if (end === -1 || /\ssrc\s*=/i.test(tag) || DATA_TYPE.test(tag)) continue;
    if (html.startsWith('</script', end + 1) || nonces.some((nonce) => tag.includes(nonce))) continue;
    blocked++;
  }
  return blocked;
}

export const inlineScriptBlocked: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'inline-script-blocked',
  needs: ['request'],
  labels: ['script blocked'],
  why: 'The HTML has a script without `src` and without a nonce of the policy, and the policy that was sent has no hash and no `unsafe-inline` for scripts.',
  fix: 'Move the script to a file of its own site, or give it a nonce that is new for each response and is listed in `script-src` as `nonce-…`.',
  find({ request, routing }, _head) {
    const text = request.response?.text ?? null;
    if (
      text?.includes('<script') !== true ||
      mediaType(request.response?.contentType ?? null) !== 'text/html'
    )
      return [];
    const policy = sentHeader(request, 'content-security-policy');
    // Several policies, joined by a comma, all have to allow it.
    if (policy === null || policy.value.includes(',')) return [];
    const source = scriptSource(policy.value);
    if (source === null || HASH.test(source)) return [];
    const nonces = [...source.matchAll(NONCE)].flatMap(([, nonce]) => (nonce === undefined ? [] : [nonce]));
    if (ALLOWS.test(source) && nonces.length === 0) return [];
    const blocked = blockedIn(text, nonces);
    if (blocked === 0) return [];
    const author = authorOf(request, routing, policy.anchor);
    return [
      {
        broke: 'unseen',
        severity: 'warn',
        sentence: `Browsers don’t run ${count(blocked, 'inline script')} of this page: the Content-Security-Policy${author === undefined ? '' : ` that ${nameOfLayer(author)} set`} does not allow ${blocked === 1 ? 'it' : 'them'}`,
        anchor: policy.anchor,
        place: author?.source ?? routing?.route?.source,
      },
    ];
  },
};
