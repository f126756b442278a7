/**
 * Session and user that the host's middleware set on the request (express-session, Passport and others). The session is recorded as it
 * was when the headers were sent, because it is saved then, with the names of what changed afterwards; the user as it was at the end. If the
 * property is an accessor (cookie-session), reading it could create or save a session, so only its name is recorded.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { RequestFact } from '../../profiler/record/facts.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import { pairHeaders, rawHeader } from '../../profiler/record/raw-headers.ts';
import { MASKED } from '../../profiler/masking/redact.ts';
import { plainPropertyOf } from '../../profiler/record/session-of.ts';

export interface SessionAndUser {
  session?: Json;
  /** The same for requests of one process that have the same session; the id itself is not kept. */
  mark?: string;
  /** Its cookie is `secure`: it is only sent over https. */
  onlyHttps?: true;
  /** Milliseconds that it is kept after a request. */
  livesMs?: number;
  /** The mark of the session that the request's cookie named, if it is not this one. */
  former?: string;
  user?: Json;
  late?: string[];
  unread?: string[];
}

const NAMES = ['session', 'user'] as const;
/** What passwords are checked against; these names are innocent elsewhere. */
const VERIFIER = /(?:^|[a-z_-])(?:hash|salt|digest|verifier)$/i;

function withoutVerifiers(json: Json): Json {
  const open = [json];
  for (const value of open) {
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      open.push(...value);
      continue;
    }
    for (const [name, item] of Object.entries(value)) {
      if (typeof item === 'string' && VERIFIER.test(name)) value[name] = MASKED;
      else open.push(item);
    }
  }
  return json;
}

function readable(plain: Json): Json {
  const json = withoutVerifiers(plain);
  // The response header shows how the cookie is sent; these parts would be masked as secrets.
  if (isRecord(json) && typeof json.cookie === 'object') delete json.cookie;
  return json;
}

function differing(before: Json | undefined, after: Json | undefined): string[] {
  const [old, now] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
}

/** Lost with the process, so nobody can try ids against a mark. */
const KEY = randomBytes(32);

/** express-session defines the id as a plain property of the session. */
function idOf(live: object): string | undefined {
  const session: unknown = Object.getOwnPropertyDescriptor(live, 'session')?.value;
  if (typeof session !== 'object' || session === null) return undefined;
  const id: unknown = Object.getOwnPropertyDescriptor(session, 'id')?.value;
  return typeof id !== 'string' || Object.keys(session).includes('id') ? undefined : id;
}

/** The same for the same text, as long as the process runs. */
export function markOf(id: string): string {
  return createHmac('sha256', KEY).update(id).digest('hex').slice(0, 8);
}

/** express-session signs the id: `s:id.signature`. */
const SIGNED = /^[^=]+=s(?::|%3A)/i;
const NAMED_SESSION = /^[^=]*(?:sid|sess)[^=]*=/i;

/** The other id that came in the cookie which is set to the id now; if none is, in one that is signed as a session's is. */
function formerId(id: string, received: readonly string[], sent: readonly string[]): string | null {
  const cookie = pairHeaders(sent).find(
    ({ name, value }) => name.toLowerCase() === 'set-cookie' && value.includes(id),
  );
  const name = cookie?.value.split('=', 1)[0]?.trim();
  const pairs = (rawHeader(received, 'cookie') ?? '').split(';').map((pair) => pair.trim());
  if (pairs.some((pair) => pair.includes(id))) return null;
  const before = pairs.filter((pair) =>
    name === undefined ? SIGNED.test(pair) : pair.startsWith(`${name}=`),
  );
  const former = before.find((pair) => NAMED_SESSION.test(pair)) ?? before[0];
  return former?.slice(former.indexOf('=') + 1).replace(/^s(?::|%3A)|\..*$/gi, '') ?? null;
}

/** Read from the settings of its cookie. */
function cookieOf(session: Json): Pick<SessionAndUser, 'onlyHttps' | 'livesMs'> {
  const { secure, originalMaxAge }: Record<string, Json> =
    isRecord(session) && isRecord(session.cookie) ? session.cookie : {};
  return {
    ...(secure === true ? { onlyHttps: true } : {}),
    ...(typeof originalMaxAge === 'number' ? { livesMs: originalMaxAge } : {}),
  };
}

export function readSessionAndUser(
  { live, session: sent, rawHeaders }: RequestFact,
  sentHeaders: readonly string[],
): SessionAndUser | null {
  if (live === undefined) return null;
  const held: SessionAndUser = {};
  let found = false;
  for (const name of NAMES) {
    if (!Object.hasOwn(live, name)) continue;
    const { value, unread } = plainPropertyOf(live, name);
    if (unread) (held.unread ??= []).push(name);
    else if (value === undefined) continue;
    else {
      if (name === 'session') Object.assign(held, cookieOf(value));
      held[name] = readable(value);
    }
    found = true;
  }
  const id = idOf(live);
  if (id !== undefined && held.session !== undefined) {
    held.mark = markOf(id);
    const former = formerId(id, rawHeaders, sentHeaders);
    if (former !== null) held.former = markOf(former);
  }
  if (sent === undefined || held.unread?.includes('session') === true) return found ? held : null;
  const before = readable(sent);
  const late = differing(before, held.session);
  if (late.length > 0) Object.assign(held, { session: before, late });
  return held;
}
