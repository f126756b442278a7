/** Caching headers that contradict each other, or a full response to a client that already had it. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { Finding } from '../profiler/finding.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { directivesIn, headerAt, headerCode, sentValue } from './shared/header-code.ts';
import { authorOf, receivedHeader, type SentHeader, sentHeader, sentHeaders } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';

const { bytesText, count } = numberHelpers;
/** For a smaller body, computing an unused ETag costs next to nothing. */
const LARGE_BODY = 16_384;

/** `public, max-age=60` -> names in lower case with their values. */
function directivesOf(text: string): Map<string, string> {
  return new Map(
    text.split(',').map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')] as const;
    }),
  );
}

function seconds(directives: ReadonlyMap<string, string>, name: string): number {
  const value = Number(directives.get(name) ?? 0);
  return Number.isFinite(value) ? value : 0;
}

/** Without `public` or `s-maxage`, shared caches don't store what such a request got (RFC 9111, 3.5). */
function isPersonal(request: KeptRequest): boolean {
  return receivedHeader(request, 'authorization') !== null;
}

/** What contradicts this Cache-Control among the other headers of the response. */
function contradictions(
  control: SentHeader,
  { request, varies }: { request: KeptRequest; varies: string },
): [sentence: string, severity: Finding['severity'], anchor: string][] {
  const directives = directivesOf(control.value);
  const ageS = Math.max(seconds(directives, 'max-age'), seconds(directives, 's-maxage'));
  const isShared = directives.has('public') || seconds(directives, 's-maxage') > 0;
  const cookies = sentHeaders(request, 'set-cookie');
  const bytes = request.response?.bytes ?? 0;
  const found: ReturnType<typeof contradictions> = [];
  const say = (sentence: string, severity: Finding['severity'] = 'warn', anchor = control.anchor): void => {
    found.push([sentence, severity, anchor]);
  };
  if (directives.has('no-store') && ageS > 0)
    say(`Cache-Control combines no-store with a lifetime of ${count(ageS, 'second')}: nothing is cached`);
  if (isShared && !directives.has('no-store') && cookies.length > 0)
    say(
      `Shared caches may store this response with the ${count(cookies.length, 'cookie')} it sets, and send them to other visitors`,
    );
  if (isShared && !directives.has('no-store') && cookies.length === 0 && isPersonal(request))
    say(
      'Shared caches may store this response, although the request carried credentials (Authorization), and send it to other visitors',
    );
  const tag = sentHeader(request, 'etag');
  if (directives.has('no-store') && tag !== null && bytes >= LARGE_BODY)
    say(
      `An ETag was computed for ${bytesText(bytes)}, but Cache-Control: no-store prevents its use`,
      'info',
      tag.anchor,
    );
  if (ageS > 0 && varies.includes('*'))
    say(`Vary: * prevents any reuse: the ${count(ageS, 'second')} in Cache-Control have no effect`);
  const encoding = sentHeader(request, 'content-encoding');
  const isCompressed = encoding !== null && encoding.value.trim().toLowerCase() !== 'identity';
  if (ageS > 0 && isShared && isCompressed && !/accept-encoding|\*/.test(varies))
    say(
      `Shared caches may send this compressed response for ${count(ageS, 'second')} to clients that can’t decode it: Vary lacks Accept-Encoding`,
      'warn',
      encoding.anchor,
    );
  return found;
}

function matches(ifNoneMatch: string, tag: string): boolean {
  const bare = (text: string): string => text.trim().replace(/^W\//, '');
  return ifNoneMatch.split(',').some((listed) => bare(listed) === bare(tag));
}

export const cachingCannotWork: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'caching-cannot-work',
  needs: ['request'],
  labels: ['caching'],
  why: 'The response headers contradict each other (RFC 9111), or a full body was sent although the request already named its ETag.',
  fix: 'Choose one policy per route: `no-store`, `private` with a lifetime, or `public` without cookies and with the right Vary. Send 304 when `req.fresh` is true.',
  find({ request, routing }, { method, status }) {
    const { response } = request;
    if (status === null || status < 200 || status >= 300 || response === undefined) return [];
    if (method !== 'GET' && method !== 'HEAD') return [];
    const found: FindingDraft[] = [];
    const say = (sentence: string, severity: Finding['severity'], anchor: string): void => {
      const author = authorOf(request, routing, anchor);
      found.push({ severity, sentence, anchor, place: author?.source ?? routing?.route?.source });
    };
    const control = sentHeader(request, 'cache-control');
    if (control !== null) {
      const varies = sentHeaders(request, 'vary')
        .map(({ value }) => value)
        .join(',')
        .toLowerCase();
      for (const contradiction of contradictions(control, { request, varies })) say(...contradiction);
    }
    const requested = status === 200 && method === 'GET' ? receivedHeader(request, 'if-none-match') : null;
    if (requested === null || /no-cache/i.test(receivedHeader(request, 'cache-control') ?? '')) return found;
    const tag = sentHeader(request, 'etag');
    if (tag !== null && matches(requested, tag.value) && response.bytes > 0)
      say(
        `The client already had this ETag, but received all ${bytesText(response.bytes)} again instead of a 304`,
        'warn',
        tag.anchor,
      );
    return found;
  },
  code(finding, profile) {
    const at = headerAt(finding, profile);
    if (at === 'content-encoding')
      return headerCode(
        'Vary',
        [...directivesIn(sentValue(profile, 'vary')), 'Accept-Encoding'],
        'Assumes that the response differs in nothing else that the request headers choose.',
      );
    if (at !== 'cache-control' || sentValue(profile, 'vary').includes('*')) return null;
    const directives = directivesIn(sentValue(profile, 'cache-control'));
    if (directives.some((directive) => /^no-store$/i.test(directive)))
      return headerCode('Cache-Control', ['no-store'], 'Assumes that no copy may be stored anywhere.');
    const own = directives.filter((directive) => !/^(?:public|private|s-maxage\b.*)$/i.test(directive));
    return directives.length === own.length
      ? null
      : headerCode(
          'Cache-Control',
          ['private', ...own],
          'Assumes that the response is meant for this visitor only; the visitor’s own browser may still store it.',
        );
  },
};
