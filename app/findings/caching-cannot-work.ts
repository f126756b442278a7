/** Caching headers of an answer that contradict each other, or that are answered in full although the client had it. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { receivedHeader, type SentHeader, sentHeader, sentHeaders, type Shared } from './shared/http.ts';

const { bytesText, count } = numberHelpers;
/** Below, an entity tag that is of no use costs next to nothing. */
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

/** What is said of an answer by its own cache-control. */
function contradictions(
  control: SentHeader,
  { request, shared, varies }: { request: KeptRequest; shared: Shared; varies: string },
): [sentence: string, severity: Finding['severity'], anchor: string][] {
  const directives = directivesOf(control.value);
  const ageS = Math.max(seconds(directives, 'max-age'), seconds(directives, 's-maxage'));
  const isShared = directives.has('public') || seconds(directives, 's-maxage') > 0;
  const cookies = sentHeaders(request, shared, 'set-cookie');
  const bytes = request.response?.bytes ?? 0;
  const found: ReturnType<typeof contradictions> = [];
  const say = (sentence: string, severity: Finding['severity'] = 'warn', anchor = control.anchor): void => {
    found.push([sentence, severity, anchor]);
  };
  if (directives.has('no-store') && ageS > 0)
    say(`Cache-Control says no-store and ${count(ageS, 'second')} at once: nothing is kept`);
  if (isShared && !directives.has('no-store') && cookies.length > 0)
    say(
      `Shared caches may keep this answer with the ${count(cookies.length, 'cookie')} that it sets, so that one visitor’s may reach another`,
    );
  const tag = sentHeader(request, shared, 'etag');
  if (directives.has('no-store') && tag !== null && bytes >= LARGE_BODY)
    say(
      `An ETag was made of ${bytesText(bytes)}, and Cache-Control: no-store keeps anyone from using it`,
      'info',
      tag.anchor,
    );
  if (ageS > 0 && varies.includes('*'))
    say(`Vary: * makes each request another: the ${count(ageS, 'second')} of Cache-Control are never used`);
  const encoding = sentHeader(request, shared, 'content-encoding');
  if (ageS > 0 && isShared && encoding !== null && !/accept-encoding|\*/.test(varies))
    say(
      `A shared cache may keep this for ${count(ageS, 'second')}, compressed, for clients that can’t read that: Vary lacks Accept-Encoding`,
      'warn',
      encoding.anchor,
    );
  return found;
}

function matches(given: string, tag: string): boolean {
  const bare = (text: string): string => text.trim().replace(/^W\//, '');
  return given.split(',').some((one) => bare(one) === bare(tag));
}

export const cachingCannotWork: FindingRule<{ request: KeptRequest }> = {
  name: 'caching-cannot-work',
  needs: ['request'],
  labels: ['caching'],
  known:
    'The headers of the answer contradict each other (RFC 9111), or repeat the ETag that the request sent along with a whole body.',
  mends:
    'Choose one: `no-store`, `private` with an age, or `public` without cookies and with the right Vary; answer 304 where `req.fresh`.',
  find({ request }, { method, status }, shared) {
    const { response } = request;
    if (status === null || status < 200 || status >= 300 || response === undefined) return [];
    if (method !== 'GET' && method !== 'HEAD') return [];
    const found: Finding[] = [];
    const say = (sentence: string, severity: Finding['severity'], anchor: string): void => {
      found.push({ label: 'caching', severity, sentence, panel: 'request', anchor });
    };
    const control = sentHeader(request, shared, 'cache-control');
    if (control !== null) {
      const varies = sentHeaders(request, shared, 'vary')
        .map(({ value }) => value)
        .join(',')
        .toLowerCase();
      for (const one of contradictions(control, { request, shared, varies })) say(...one);
    }
    const asked = status === 200 && method === 'GET' ? receivedHeader(request, 'if-none-match') : null;
    if (asked === null || /no-cache/i.test(receivedHeader(request, 'cache-control') ?? '')) return found;
    const tag = sentHeader(request, shared, 'etag');
    if (tag !== null && matches(asked, tag.value) && response.bytes > 0)
      say(
        `The client had this ETag already and got all ${bytesText(response.bytes)} again: 304 was never answered`,
        'warn',
        tag.anchor,
      );
    return found;
  },
};
