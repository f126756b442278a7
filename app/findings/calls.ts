/** Outgoing calls. */
import type { ExceptionData } from '../panels/exception/data.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { leavesIn } from '../panels/shared/json-leaves.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { coveredMs, pick } from '../panels/shared/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { addTo } from '../profiler/group-by.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName, isReading, lostMethods, outcomeOf, tellsOf, triesOf, typeOf } from './shared/calls.ts';
import { type Call, endOf, type Needs, type OtherRequest, type Rule } from './shared/kept.ts';
import { isLogged, isOfWork, codeOf, messageOf, wasSeen } from './shared/errors.ts';
import { isSuccess } from './shared/http.ts';
import { repeatsIn } from './shared/repeats.ts';
import { arePolls, areSequential } from './shared/time.ts';
import { count, excerpt, failureOf, requestText, isPartial, shareOf } from './shared/wording.ts';

/** Fewer calls are a handful, not a loop. */
const MANY = 5;

const VALUE = /^(?:[^/]*\d[^/]*|[0-9a-f-]{16,})$/i;

function shapeOf({ method, url }: Call): string {
  const [, before = '', path = '', query = ''] =
    /^([a-z]+:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const segments = path.split('/').map((segment) => (VALUE.test(segment) ? ':id' : segment));
  const names = query.split('&').map((pair) => pair.split('=', 1)[0] ?? '');
  return `${method} ${before}${segments.join('/')}?${names.sort().join('&')}`;
}

const manyCalls: Rule<Needs<'http_client'>> = {
  name: 'many-calls',
  needs: ['http_client'],
  labels: ['many calls'],
  why: 'At least five calls of this request went to the same endpoint, with addresses that differ only in their values.',
  fix: 'Fetch all of them in one call if the service offers it (`?ids=1,2,3`); otherwise start them together, a few at a time.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (calls.length < MANY) return [];
    const byShape = new Map<string, number[]>();
    calls.forEach((call, index) => addTo(byShape, shapeOf(call), index));
    return [...byShape.values()].flatMap((members) => {
      const of = pick(calls, members);
      const [first] = of;
      const different = new Set(of.map(({ url }) => url)).size;
      if (first === undefined || of.length < MANY || different < MANY) return [];
      const costMs = coveredMs(of);
      const isSequential = areSequential(of);
      const how = isSequential ? 'ran one after the other and took' : 'took';
      const sentence = `${callName(first)} and ${count(of.length - 1)} similar calls ${how} ${shareOf(costMs, wholeMs)}`;
      const severity = isSequential ? 'bad' : 'warn';
      return [{ severity, sentence, anchor: `c${(members[0] ?? 0) + 1}`, costMs, place: first.caller }];
    });
  },
};

const SIGNIFICANT_HEADERS = /^(?:authorization|cookie|accept|accept-language|range|x-api-key)$/i;

/** Equal masked values have equal marks. */
function keyOf({ method, url, requestHeaders, error, status }: Call): string | null {
  if (error !== null || (status ?? 0) >= 400) return null;
  const headers = requestHeaders
    .filter(({ name }) => SIGNIFICANT_HEADERS.test(name))
    .map(({ name, value }) => `${name.toLowerCase()}: ${value}`);
  return [method, url, ...headers].join('\n');
}

/** `same`: each got the same body, `other`: they differ; null if the bodies are unknown. */
function responsesOf(calls: readonly Call[]): 'same' | 'other' | null {
  const bodies = calls.map(({ responseBody }) => responseBody);
  const lengths = calls.map(({ responseHeaders }) => namedHeader(responseHeaders, 'content-length'));
  if (new Set(lengths).size > 1 && !lengths.includes(null)) return 'other';
  if (bodies.some((body) => body === undefined || body.text === null || body.truncated)) return null;
  return bodies.every((body) => body?.text === bodies[0]?.text) ? 'same' : 'other';
}

const repeatedCall: Rule<Needs<'http_client'>> = {
  name: 'repeated-call',
  needs: ['http_client'],
  labels: ['repeated call'],
  why: 'At least two GET or HEAD calls of this request had the same address, credentials and accept headers, with no other kind of call in between. If their responses were recorded, they were the same.',
  fix: 'Call once and pass the result on. If several places ask at the same time, share the promise or cache the result briefly.',
  find({ http_client: { calls } }, { durationMs: wholeMs }, from) {
    if (calls.length < 2) return [];
    return repeatsIn(calls, { isWrite: (call) => !isReading(call), keyOf }).flatMap((members) => {
      const of = pick(calls, members);
      const [first, second] = of;
      const responses = responsesOf(of);
      // It was asked again for what had changed.
      if (first === undefined || second === undefined || responses === 'other') return [];
      if (arePolls(of, from.time)) return [];
      const costMs = coveredMs(of.slice(1));
      const isConcurrent = of.every((call) => call === first || call.startMs < endOf(first));
      const sentence = `${callName(first)} was called ${count(of.length)} times with the same address${isConcurrent ? ' at the same time' : ''}${responses === 'same' ? ' and got the same response' : ''}; the repeats took ${shareOf(costMs, wholeMs)}`;
      return [
        { severity: 'warn', sentence, anchor: `c${(members[1] ?? 0) + 1}`, costMs, place: second.caller },
      ];
    });
  },
};

/** Two alike may be two orders of the same. */
const LEAST_ALIKE = 3;

/** Calls that changed something, by address and whole body. */
function alikeIn(calls: readonly Call[]): number[][] {
  const alike = new Map<string, number[]>();
  calls.forEach((call, index) => {
    const { method, url, requestBody, error, status } = call;
    if (isReading(call) || error !== null || status === null || status >= 400) return;
    if (requestBody === undefined || requestBody.truncated || !requestBody.text) return;
    addTo(alike, `${method} ${url}\n${requestBody.text}`, index);
  });
  return [...alike.values()].filter(({ length }) => length >= LEAST_ALIKE);
}

const sentRepeatedly: Rule<Needs<'http_client'>> = {
  name: 'sent-repeatedly',
  needs: ['http_client'],
  labels: ['sent repeatedly'],
  why: 'At least three calls of this request that may change something had the same method, address and body, and each succeeded.',
  fix: 'Send it once. Look for a listener that each request adds and none removes (`emitter.on` in a handler): it runs once more with every request. Else look for a loop, or for a second caller.',
  find({ http_client: { calls } }, _head, from) {
    return alikeIn(calls).flatMap((members): FindingDraft[] => {
      const of = pick(calls, members);
      const [first] = of;
      if (first === undefined || arePolls(of, from.time)) return [];
      const isConcurrent = of.every((call) => call === first || call.startMs < endOf(first));
      const how = isConcurrent ? ' at the same time' : '';
      const sentence = `${callName(first)} was sent ${count(of.length)} times with the same body${how}, and succeeded each time`;
      const anchor = `c${(members[1] ?? 0) + 1}`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor, place: first.caller }];
    });
  },
};
/** A 4xx whose error was passed on as the data of a success. */
function refusalSent(
  calls: readonly Call[],
  request: KeptRequest | undefined,
  status: number | null,
): FindingDraft[] {
  const index = calls.findLastIndex(
    (call) => call.status !== null && call.status >= 400 && call.status < 500,
  );
  const call = calls[index];
  if (call === undefined || status !== 200 || hasFailed(call)) return [];
  const leaf = leavesIn(request?.response?.text ?? '').find(
    ({ path, value }) =>
      /(?:^|\.)errors?(?:\.message)?$/i.test(path) && typeof value === 'string' && value !== '',
  );
  if (leaf === undefined) return [];
  const sentence = `${callName(call)} returned ${call.status ?? ''}, and the response is a 200 with an error as ${excerpt(leaf.path, 60)}`;
  const place = call.caller;
  const anchor = `c${index + 1}`;
  return [{ label: 'failure ignored', broke: 'unseen', severity: 'warn', sentence, anchor, place }];
}

const failedCall: Rule<Needs<'http_client', 'request' | 'exception' | 'logs'>> = {
  name: 'failed-call',
  needs: ['http_client'],
  labels: ['call failed', 'failure ignored'],
  why: 'The call got no response, a 5xx or a 429, was not retried, and the response is an error or says nothing of it. A call that the application aborted is no failure, unless a timer did. Or it got another 4xx, and the 200 has an error in it.',
  fix: 'Name the missing data in the response, or respond with 502 or 503, and log the error.',
  find({ http_client, request, exception, logs }, { status, outcome }) {
    const { calls } = http_client;
    // Retried calls have their own rule.
    const retried = new Set(triesOf(calls).flat());
    const failed = calls.flatMap((call, index) =>
      hasFailed(call) && !retried.has(index) ? [{ call, index }] : [],
    );
    // One that the response could tell of comes first.
    const headersAtMs = request?.response?.headersAtMs ?? Infinity;
    const first = failed.find((one) => endOf(one.call) <= headersAtMs) ?? failed[0];
    if (first === undefined) return refusalSent(calls, request, status);
    const { call, index } = first;
    // The response of a fallback says so.
    const { text = null } = request?.response ?? {};
    if (
      status !== null &&
      status < 400 &&
      (isPartial(status) || (text !== null && failed.every((one) => tellsOf(one.call.status, text))))
    )
      return [];
    const how = call.error === null ? `returned ${call.status ?? ''}` : `failed (${excerpt(call.error)})`;
    const more = failed.length > 1 ? `, as did ${count(failed.length - 1, 'other call')}` : '';
    const what = `${callName(call)} ${how}${more}`;
    const isThrown = exception?.errors.some((one) => wasSeen(one) && isOfWork(one, { http_client })) === true;
    const failure = failureOf(
      {
        what,
        isLate: endOf(call) > headersAtMs,
        isKnown: failed.every((one) =>
          isLogged(
            logs,
            [String(one.call.status ?? ''), messageOf(one.call.error), codeOf(one.call.error)],
            endOf(one.call),
          ),
        ),
      },
      { status, outcome },
    );
    if (failure === null) return [];
    const severity = isThrown && (status ?? 500) >= 500 ? 'bad' : failure.severity;
    const anchor = `c${index + 1}`;
    return [{ ...failure, severity, anchor, costMs: call.durationMs ?? 0, place: call.caller }];
  },
};

/** Packages that keep values in the process. */
const KEEPS_VALUES =
  /^(?:lru-cache|node-cache|cache-manager|cacheable|keyv|quick-lru|tiny-lru|mnemonist|memoizee|memoize|mem|moize|p-memoize|async-cache-dedupe|bentocache|toad-cache|@isaacs\/ttlcache)$/;

function wasReceived(request: KeptRequest | undefined, text: string): boolean {
  return receivedFields(request ?? {}).some(({ value }) => value === text);
}

/** Received, or a word of the response: `3,780.00 EUR`. */
function isMentioned(request: KeptRequest | undefined, text: string): boolean {
  const words = new RegExp(String.raw`(?<!\w)${text.replace(/\W/g, String.raw`\$&`)}(?!\w)`);
  return wasReceived(request, text) || words.test(request?.response?.text ?? '');
}

const NAMING = /^(?=.*[a-z])[\w.-]{2,40}$/i;

/** What the call was about, if both requests are: a value of its query, or a received segment of its path. */
function sharedSubject(url: string, one: KeptRequest | undefined, other: KeptRequest | undefined) {
  const [path = '', query = ''] = url.split('?');
  const values = Array.from(new URLSearchParams(query), ([, value]) => value).filter((value) =>
    NAMING.test(value),
  );
  const segments = path
    .split('/')
    .slice(3)
    .filter((segment) => NAMING.test(segment));
  return (
    values.find((value) => isMentioned(one, value) && isMentioned(other, value)) ??
    segments.find((segment) => wasReceived(one, segment) && wasReceived(other, segment))
  );
}

/** The latest call to an address failed, in a request about the same that succeeded all the same. */
function failedBefore(request: KeptRequest, earlier: readonly OtherRequest[]) {
  const seen = new Set<string>();
  for (const { head, kept } of earlier) {
    for (const call of (kept.http_client?.calls ?? []).toReversed()) {
      if (seen.has(call.url)) continue;
      seen.add(call.url);
      const hasNone = call.error !== null || (call.status ?? 0) >= 500;
      if (!hasNone || call.method !== 'GET' || !isSuccess(head.status)) continue;
      const subject = sharedSubject(call.url, request, kept.request);
      if (subject !== undefined) return { call, subject, head };
    }
  }
  return null;
}

const failureCached: Rule<Needs<'request', 'http_client' | 'cache' | 'database'>> = {
  name: 'failure-cached',
  needs: ['request'],
  labels: ['failure cached'],
  why: 'The latest call to an address failed, and its request succeeded all the same. This request of the route is about the same value, and succeeded without any call or statement. The application has a cache.',
  fix: 'Don’t cache the replacement of a failed response, or cache it for seconds. Throw in the function that fills the cache, and choose the replacement outside of it. Log the failure.',
  // Earlier requests are read for those alone that may have had everything in memory.
  compares: ({ request, http_client: client, database }, { status }) =>
    isSuccess(status) &&
    (client?.calls ?? []).length === 0 &&
    (database?.queries ?? []).length === 0 &&
    (request.response?.text ?? '') !== '',
  find({ request, http_client: client, cache }, { status }, { earlier, shared }) {
    if (!isSuccess(status) || (client?.calls ?? []).length > 0) return [];
    const found = failedBefore(request, earlier);
    if (found === null) return [];
    const { call, subject, head } = found;
    const { packages = [] } = (shared.configuration ?? {}) as { packages?: readonly string[] };
    const isKept =
      packages.some((one) => KEEPS_VALUES.test(one.replace(/ [^ ]*$/, ''))) ||
      (cache?.items ?? []).some(({ key, hits }) => (hits ?? 0) > 0 && key?.includes(subject) === true);
    if (!isKept) return [];
    const how = call.error === null ? `returned ${call.status ?? ''}` : `failed (${excerpt(call.error, 40)})`;
    const sentence = `Nothing was called for ${excerpt(subject, 40)}, although the latest ${callName(call)} for it ${how} in ${requestText(head)}, which still answered ${head.status ?? ''}: what replaced the response may be cached`;
    return [{ severity: 'info', sentence, anchor: 'response', place: call.caller }];
  },
};

/** Between the end of the call and the error, in milliseconds or as a share of the request: parsing takes no time. */
const SOON_MS = 25;
const SOON_SHARE = 0.1;

type Error = ExceptionData['errors'][number];

function isSyntaxError({ thrown, origin }: Error): boolean {
  const root = thrown.chain.at(-1);
  return origin !== 'logged' && root?.class === 'SyntaxError' && root.message.includes('JSON');
}

const callNotJson: Rule<Needs<'http_client' | 'exception'>> = {
  name: 'call-not-json',
  needs: ['http_client', 'exception'],
  labels: ['call not JSON'],
  why: 'A SyntaxError of `JSON.parse` came within 25 ms, or 10 % of the request, after the end of this call, the last one before it.',
  fix: 'Check status and Content-Type before `response.json()`, and name the service in the error that you throw.',
  find({ http_client: { calls }, exception: { errors } }, { durationMs }) {
    const soonMs = Math.max(SOON_MS, (durationMs ?? 0) * SOON_SHARE);
    return errors.flatMap((error) => {
      if (!isSyntaxError(error)) return [];
      const index = calls.findLastIndex(
        (call) => endOf(call) <= error.atMs && error.atMs - endOf(call) < soonMs,
      );
      const call = calls[index];
      if (call === undefined) return [];
      const type = typeOf(call);
      const sentence = `The response of ${callName(call)}, ${outcomeOf(call)}${type === '' ? '' : ` (${type})`}, is probably the text that could not be parsed as JSON`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `c${index + 1}`, place: call.caller }];
    });
  },
};

const methodLost: Rule<Needs<'http_client'>> = {
  name: 'method-lost',
  needs: ['http_client'],
  labels: ['method lost'],
  why: 'A call that writes was redirected by 301 or 302, and the client followed with a GET without the body, as `fetch` does. After 302 it is only flagged if the GET failed, because forms answer so.',
  fix: 'Call the address that the service redirects to, often one with a slash at its end or with `https`. Set `redirect: "error"` or `"manual"` for calls that write, so that a redirect can’t turn into a GET.',
  find({ http_client: { calls } }) {
    return lostMethods(calls).flatMap(({ call, next }): FindingDraft[] => {
      const hasFailed = next.error !== null || (next.status ?? 0) >= 400;
      if (!hasFailed && call.status === 302) return [];
      const sentence = `${callName(call)} was redirected (${call.status}), and ${callName(next)} followed without its body: ${outcomeOf(next)}`;
      return [{ broke: hasFailed ? 'response' : 'unseen', severity: 'bad', sentence, anchor: `c${calls.indexOf(call) + 1}`, place: call.caller }]; // prettier-ignore
    });
  },
};

export const callRules: readonly Rule[] = [
  methodLost,
  manyCalls,
  repeatedCall,
  sentRepeatedly,
  failedCall,
  failureCached,
  callNotJson,
];
