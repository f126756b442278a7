/** Sessions that are lost: not sent, overwritten, renewed, changed too late, or empty. */
import type { KeptRequest } from '../panels/request/data.ts';
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { isInLibrary } from '../profiler/read/rows.ts';
import { pathOf } from '../profiler/request-target.ts';
import { isUntrustedHttps, receivedHeader, sentHeader, sentHeaders } from './shared/http.ts';
import type { Needs, OtherRequest, Rule } from './shared/kept.ts';
import { count, duration, excerpt, requestText } from './shared/wording.ts';
import { isCleared, readCookie, SHORT_LIFE_MS } from './cookies.ts';
import { workIn } from './shared/work.ts';

const NAMED = 3;

function namesText(names: readonly string[]): string {
  const named = names.slice(0, NAMED).map((name) => `req.session.${name.slice(0, 60)}`);
  return `${named.join(', ')}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ''}`;
}

const sessionWithoutCookie: Rule<Needs<'request', 'routing'>> = {
  name: 'session-without-cookie',
  needs: ['request'],
  labels: ['session without cookie'],
  why: 'The request sent no cookie and left values in its session, but the response set no cookie. `express-session` omits it if `cookie.secure` is on and `req.secure` is not.',
  fix: "Set `cookie.secure` to `'auto'`, or trust the proxy that terminates TLS (`app.set('trust proxy', …)`).",
  find({ request, routing }, { status }) {
    const session = request.sessionAndUser?.session;
    if (!isRecord(session)) return [];
    // Values that came too late have a rule of their own.
    if (status === null || status >= 400 || request.sessionAndUser?.late !== undefined) return [];
    if (receivedHeader(request, 'cookie') !== null || sentHeader(request, 'set-cookie') !== null) return [];
    const names = Object.keys(session);
    if (names.length === 0) return [];
    const proxy = isUntrustedHttps(request) ? ' (the proxy says https, but is not trusted)' : '';
    const isSecure = request.client.scheme === 'http' && request.sessionAndUser?.onlyHttps === true;
    const why = isSecure ? `: it is secure, and this request came over http${proxy}` : '';
    const sentence = `The new session has ${namesText(names)}, but no session cookie was sent${why}${isSecure ? '. The' : ': the'} next request may not find it`;
    const made = isSecure ? routing?.layers.find(({ name }) => name === 'session')?.source : undefined;
    const place = made ?? routing?.route?.source;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place }];
  },
};

function entriesOf(value: Json | undefined): Map<string, Json> | null {
  const list = Array.isArray(value)
    ? value
    : isRecord(value)
      ? Object.entries(value as Record<string, Json>)
      : null;
  return list === null ? null : new Map(list.map((one): [string, Json] => [JSON.stringify(one), one]));
}

/** The name in the session that has an entry of what `first` received, which `second` has not; null: nothing is lost. */
function lostName(first: OtherRequest, second: OtherRequest): string | null {
  const own = first.kept.request;
  const [had, has] = [own?.sessionAndUser?.session, second.kept.request?.sessionAndUser?.session];
  if (own === undefined || !isRecord(had) || !isRecord(has)) return null;
  const received = new Set(receivedFields(own).map(({ value }) => String(value)));
  const isReceived = (part: Json): boolean => leavesOf(part).some(({ value }) => received.has(String(value)));
  const found = Object.entries(had as Record<string, Json>).find(([name, value]) => {
    const [before, after] = [entriesOf(value), entriesOf(has[name])];
    if (isMasked(JSON.stringify([value, has[name]]))) return false;
    if (has[name] === undefined) return isReceived(value);
    if (before === null || after === null) return false;
    // Without one of its own, it may have removed what is gone.
    const isGrown = [...after.keys()].some((text) => !before.has(text));
    return isGrown && [...before].some(([text, part]) => !after.has(text) && isReceived(part));
  });
  return found?.[0] ?? null;
}

/** Milliseconds between the loading by `second` and the earliest moment at which `first` can have saved; null: in another order. */
function staleMs(first: OtherRequest, second: OtherRequest): number | null {
  const [one, other] = [first.kept, second.kept];
  const mark = one?.request?.sessionAndUser?.mark;
  const layer = other?.routing?.layers.find(({ name, nextMs }) => name === 'session' && nextMs !== null);
  const [savedMs, laterMs] = [one, other].map((kept) => kept?.request?.response?.headersAtMs ?? null);
  if (mark === undefined || mark !== other?.request?.sessionAndUser?.mark || layer === undefined) return null;
  if (savedMs === null || savedMs === undefined || laterMs === null || laterMs === undefined) return null;
  // Of one process, as their marks are of one.
  const shiftMs = (other?.runtime?.startMark ?? NaN) - (one?.runtime?.startMark ?? NaN);
  const early = savedMs - (shiftMs + layer.startMs + (layer.nextMs ?? 0));
  const isLater = shiftMs + laterMs >= savedMs + CLOCK_MS;
  return early >= CLOCK_MS && isLater ? early : null;
}

/** Times are rounded. */
const CLOCK_MS = 0.1;

/** Work that it mostly waited for meanwhile: the line between the reading and the writing. */
function waitedFor({ kept }: OtherRequest, ms: number) {
  const [longest] = workIn(kept).toSorted((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0));
  if (longest === undefined || (longest.durationMs ?? 0) < ms / 2) return { text: '', place: null };
  const { what, durationMs, caller } = longest;
  return {
    text: `, then waited ${duration(durationMs)} for ${what},`,
    place: isInLibrary(caller) ? null : caller,
  };
}

const sessionOverwritten: Rule<Needs<'request' | 'routing', 'runtime'>> = {
  name: 'session-overwritten',
  needs: ['request', 'routing'],
  labels: ['session lost'],
  why: 'Two requests of one session ran at the same time. The later one loaded the session before the other one saved it, and then saved its own copy. A value that the other request received and put into the session is not in that copy.',
  fix: 'Store a list that grows, such as a cart, in the database or in a Redis hash. There, each request changes its own part. A session is read and written as a whole.',
  overlaps: ({ request }) => request.sessionAndUser?.mark !== undefined,
  find(kept, head, { overlapping }) {
    const self: OtherRequest = { head, kept: { ...kept } };
    return overlapping.flatMap((other): FindingDraft[] => {
      const name = requestText(other.head);
      const common = { broke: 'unseen', severity: 'bad', anchor: 'session' } as const;
      const place = kept.routing.route?.source;
      const over = staleMs(other, self);
      const taken = over === null ? null : lostName(other, self);
      if (over !== null && taken !== null) {
        const waited = waitedFor(self, over);
        const sentence = `This request overwrote the session that ${name} saved: it had loaded the session at least ${duration(over)} earlier${waited.text || ','} and what the other request put into req.session.${excerpt(taken, 60)} is lost`;
        return [{ ...common, sentence, place: waited.place ?? place }];
      }
      const under = staleMs(self, other);
      const given = under === null ? null : lostName(self, other);
      if (under === null || given === null) return [];
      const waited = waitedFor(other, under);
      const sentence = `${name} overwrote the session that this request saved: it had loaded the session at least ${duration(under)} earlier${waited.text || ','} and what this request put into req.session.${excerpt(given, 60)} is lost`;
      return [{ ...common, sentence, place: waited.place ?? place }];
    });
  },
};

/** What is meant for one step of a sign-in, or counts its attempts. */
const OF_SIGN_IN =
  /return|redirect|flash|message|csrf|xsrf|state|nonce|oauth|oidc|saml|captcha|attempt|passport/i;

/** The line that deleted the old session: its key is masked as its id is. */
function renewedAt({ cache, routing }: Needs<never, 'cache' | 'routing'>) {
  const deleted = cache?.items.find(
    ({ command, key, caller }) =>
      /^(?:DEL|UNLINK)$/.test(command) && isMasked(key ?? '') && caller !== null && !isInLibrary(caller),
  );
  return deleted?.caller ?? routing?.route?.source;
}

const sessionRenewed: Rule<Needs<'request', 'routing' | 'cache'>> = {
  name: 'session-renewed',
  needs: ['request'],
  labels: ['session lost'],
  why: 'The response set the cookie of a new session with values in it. An earlier request had the session that this request’s cookie named, with values that the new one does not have.',
  fix: 'Copy the values to the new session. A sign-in with Passport makes a new one, and keeps them with `passport.authenticate("local", { keepSessionInfo: true })`. With `req.session.regenerate`, read them before and set them in its callback.',
  relates: ({ request }) => request.sessionAndUser?.former !== undefined,
  find({ request, routing, cache }, _head, { siblings }) {
    const { session, former } = request.sessionAndUser ?? {};
    if (former === undefined || !isRecord(session) || Object.keys(session).length === 0) return [];
    if (sentHeader(request, 'set-cookie') === null) return [];
    const before = siblings.find(({ kept }) => kept.request?.sessionAndUser?.mark === former);
    const had = before?.kept.request?.sessionAndUser?.session;
    if (before === undefined || !isRecord(had)) return [];
    const lost = Object.keys(had).filter((name) => !Object.hasOwn(session, name) && !OF_SIGN_IN.test(name));
    if (lost.length === 0) return [];
    const sentence = `The response began a new session without ${namesText(lost)}, which the session had before, at ${requestText(before.head)}`;
    const place = renewedAt({ cache, routing });
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place }];
  },
};

const sessionChangedLate: Rule<Needs<'request', 'routing'>> = {
  name: 'session-changed-late',
  needs: ['request'],
  labels: ['session lost'],
  why: 'The session has changed since the response headers were sent. express-session saves it when `end()` is called, which `send`, `json` and `redirect` do.',
  fix: 'Change the session before the response is sent. If it must change later, call `req.session.save()` and wait for it.',
  find({ request: { sessionAndUser }, routing }) {
    const late = sessionAndUser?.late ?? [];
    if (late.length === 0) return [];
    const sentence = `${namesText(late)} changed after the headers were sent, so this may not be saved`;
    return [
      { broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place: routing?.route?.source },
    ];
  },
};

/** Names in the session; null if there is none, or it was not read. */
function sessionNames(request: KeptRequest | undefined): string[] | null {
  const session = request?.sessionAndUser?.session;
  return isRecord(session) ? Object.keys(session) : null;
}

/** A redirect is followed at once, in milliseconds. */
const FOLLOWED_MS = 10_000;
const LOGIN = /log-?in|sign-?(?:in|up)|register|auth|callback/i;
const SENT_AWAY = new Set([302, 303, 401, 403]);

function isSentAway(request: KeptRequest, status: number | null): boolean {
  return SENT_AWAY.has(status ?? 0) && sessionNames(request)?.length === 0;
}

function isEmptied(request: KeptRequest, status: number | null): boolean {
  return isSentAway(request, status) && request.jar.length > 0;
}

/** The cookie names another session than the one that `login` left: a logout began a new one. Only marks of one process can be compared. */
function isOtherSession(
  { sessionAndUser: own }: KeptRequest,
  { sessionAndUser: left }: KeptRequest,
): boolean {
  const named = own?.former ?? own?.mark;
  return named !== undefined && left?.mark !== undefined && named !== left.mark;
}

const sessionEmpty: Rule<Needs<'request'>> = {
  name: 'session-empty',
  needs: ['request'],
  labels: ['empty session'],
  why: 'A login redirected to this address and set the session cookie that this request has sent. The session is empty, and the response sends the visitor away (302, 303, 401, 403).',
  fix: 'Set values in the callback of `req.session.regenerate(…)`, because it makes a new session. If the store is slow, redirect in the callback of `req.session.save(…)`.',
  relates: ({ request }, { status }) => isEmptied(request, status),
  find({ request }, head, { siblings }) {
    if (!isEmptied(request, head.status)) return [];
    for (const { head: before, kept } of siblings) {
      const { request: login, routing } = kept;
      if (login === undefined) continue;
      const left = sessionNames(login);
      const isNear =
        before.clientAddress === head.clientAddress && head.startedAt - before.startedAt < FOLLOWED_MS;
      if (!isNear || left === null || !LOGIN.test(before.url)) continue;
      if (before.process === head.process && isOtherSession(request, login)) continue;
      if (pathOf(sentHeader(login, 'location')?.value ?? '') !== pathOf(head.url)) continue;
      const set = sentHeaders(login, 'set-cookie').map(({ value }) => readCookie(value));
      if (!set.some((one) => !isCleared(one) && request.jar.some(({ name }) => name === one.name))) continue;
      const how =
        left.length === 0
          ? 'but left nothing in the session, as happens if it is regenerated after values were set'
          : `with ${count(left.length, 'value')} in the session, which was not saved, or not read again`;
      const sentence = `The session is empty: ${before.method} ${before.route ?? ''} (${before.token}) set its cookie and redirected here, ${how}`;
      const place = routing?.route?.source;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'session', place }];
    }
    return [];
  },
};

/** Milliseconds from the response of the request that used the session last. */
function idleMs({ head, kept }: OtherRequest, { startedAt }: ProfileHead): number {
  return startedAt - head.startedAt - (kept.request?.response?.headersAtMs ?? 0);
}

/** The last request before of this browser, if it had a session with values and a short life, whose cookie is gone: browsers send none that ran out. */
function droppedBy(request: KeptRequest, head: ProfileHead, before: readonly OtherRequest[]) {
  const agent = receivedHeader(request, 'user-agent');
  const last = before.find(
    (one) =>
      one.head.clientAddress === head.clientAddress &&
      one.kept.request !== undefined &&
      receivedHeader(one.kept.request, 'user-agent') === agent &&
      sessionNames(one.kept.request) !== null,
  );
  const { request: theirs } = last?.kept ?? {};
  if (agent === null || theirs === undefined || sessionNames(theirs)?.length === 0) return undefined;
  const had = [...theirs.jar, ...sentHeaders(theirs, 'set-cookie').map(({ value }) => readCookie(value))].map(
    ({ name }) => name,
  );
  const isGone = had.some((name) => !request.jar.some((one) => one.name === name));
  return isGone && (theirs.sessionAndUser?.livesMs ?? Infinity) < SHORT_LIFE_MS ? last : undefined;
}

const sessionExpired: Rule<Needs<'request', 'routing'>> = {
  name: 'session-expired',
  needs: ['request'],
  labels: ['session expired'],
  explains: ['session-empty'],
  why: 'The session is empty, and the visitor is sent away (302, 303, 401, 403). The cookie named the session of an earlier request, whose lifetime was over; or the cookie is gone, and that session lived for less than a minute.',
  fix: 'Give `cookie.maxAge` of `express-session` milliseconds: `30 * 60 * 1000` is half an hour. With `rolling: true`, each response sets the cookie again.',
  compares: ({ request }, { status }) => isSentAway(request, status),
  relates: ({ request }, { status }) => isSentAway(request, status),
  find({ request, routing }, head, { earlier, siblings }) {
    if (!isSentAway(request, head.status)) return [];
    const { former } = request.sessionAndUser ?? {};
    const before = [...earlier, ...siblings]
      .filter((one) => one.head.process === head.process)
      .toSorted((a, b) => b.head.startedAt - a.head.startedAt);
    const last =
      former === undefined
        ? droppedBy(request, head, before)
        : before.find(({ kept }) => kept.request?.sessionAndUser?.mark === former);
    const livesMs = last?.kept.request?.sessionAndUser?.livesMs;
    if (last === undefined || livesMs === undefined || idleMs(last, head) < livesMs) return [];
    const cookie =
      former === undefined
        ? 'This request has no session cookie any more'
        : 'The session of the cookie had run out';
    const sentence = `${cookie}: it lived for ${duration(livesMs)}, and ${requestText(last.head)} used it last, ${duration(idleMs(last, head))} before`;
    const severity = livesMs < SHORT_LIFE_MS ? 'warn' : 'info';
    const made = routing?.layers.find(({ name }) => name === 'session')?.source;
    return [
      { broke: 'response', severity, sentence, anchor: 'session', place: made ?? routing?.route?.source },
    ];
  },
};

export const sessionRules: readonly Rule[] = [
  sessionWithoutCookie,
  sessionOverwritten,
  sessionRenewed,
  sessionChangedLate,
  sessionEmpty,
  sessionExpired,
];
