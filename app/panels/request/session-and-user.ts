/**
 * What the host's middleware left on the request: its session and its user (express-session, Passport and whoever puts
 * plain data there). Read when the answer is over, so that what is seen is what was left; own data only, and nothing that runs
 * code: where the property is an accessor (cookie-session), reading it could create or save a session, so it is named and
 * left alone.
 */
import type { RequestFact } from '../../profiler/facts.ts';
import type { Json } from '../../profiler/json.ts';
import { toPlain } from '../../profiler/plain.ts';
import { MASK } from '../../profiler/redact-rules.ts';

export interface SessionAndUser {
  session?: Json;
  user?: Json;
  /** Properties that are there, but behind an accessor. */
  unread?: string[];
}

const NAMES = ['session', 'user'] as const;
/** A user may be a whole model of an ORM. */
const LIMITS = { depth: 4, width: 40, length: 500, total: 150 };
/** What a password is checked by, under names that say nothing elsewhere. */
const VERIFIER = /(?:^|[a-z_-])(?:hash|salt|digest|verifier)$/i;

/** Takes out in place what is no secret by its name elsewhere, and is one here. */
function withoutVerifiers(json: Json): Json {
  const open = [json];
  for (const value of open) {
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      open.push(...value);
      continue;
    }
    for (const [name, item] of Object.entries(value)) {
      if (typeof item === 'string' && VERIFIER.test(name)) value[name] = MASK;
      else open.push(item);
    }
  }
  return json;
}

function readValue(value: unknown): Json | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value !== 'object') return toPlain(value, LIMITS);
  const json = withoutVerifiers(toPlain(value, LIMITS));
  // How a session's cookie is sent is told by the answer's own header; its parts would be masked as if they were secrets.
  if (typeof json === 'object' && json !== null && !Array.isArray(json) && typeof json.cookie === 'object')
    delete json.cookie;
  return json;
}

/** undefined where there is neither. */
export function readSessionAndUser({ live }: RequestFact): SessionAndUser | undefined {
  if (live === undefined) return undefined;
  const held: SessionAndUser = {};
  let found = false;
  for (const name of NAMES) {
    if (!Object.hasOwn(live, name)) continue;
    const own = Object.getOwnPropertyDescriptor(live, name);
    const value = own !== undefined && 'value' in own ? readValue(own.value) : undefined;
    if (own !== undefined && !('value' in own)) (held.unread ??= []).push(name);
    else if (value === undefined) continue;
    else held[name] = value;
    found = true;
  }
  return found ? held : undefined;
}
