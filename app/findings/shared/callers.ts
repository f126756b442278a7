/** Who sent a request: its user, or the header by which a gateway names one. */
import type { KeptRequest } from '../../panels/request/data.ts';
import { leavesOf } from '../../panels/shared/json-leaves.ts';
import { isRecord } from '../../profiler/json.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { PRIMARY } from './queries.ts';

/** Request headers by which a gateway says whose the request is. */
export const IDENTITY = /^x-(account|customer|member|tenant|user)(?:-?id)?$/i;

export interface Caller {
  by: string;
  words: RegExp;
  value: string;
}

export function callerOf(request: KeptRequest | undefined): Caller | null {
  const { user = null, session = null } = request?.sessionAndUser ?? {};
  const id =
    leavesOf(user).find(({ path }) => PRIMARY.test(path)) ??
    leavesOf(session).find(({ path }) => /^user_?id$/i.test(path));
  if (id !== undefined && id.value !== null && !isMasked(String(id.value)))
    return { by: 'user', words: /user|owner|account|customer|member/i, value: String(id.value) };
  const { name = '', value = '' } = request?.headers?.find((header) => IDENTITY.test(header.name)) ?? {};
  const [, word = ''] = IDENTITY.exec(name) ?? [];
  if (value === '' || isMasked(value)) return null;
  return { by: name.toLowerCase(), words: new RegExp(word, 'i'), value };
}

/** The caller, or what tells callers apart if nothing names one: a mark of the credentials, or of the session. */
export function callerOrMark(request: KeptRequest | undefined): Caller | null {
  const { session, mark } = request?.sessionAndUser ?? {};
  const isUsed = isRecord(session) && Object.keys(session).length > 0;
  const value = request?.mark ?? (isUsed ? mark : undefined);
  return callerOf(request) ?? (value === undefined ? null : { by: 'caller', words: /^$/, value });
}

export function isSame(one: Caller | null, other: Caller | null): boolean {
  return one !== null && other !== null && one.by === other.by && one.value === other.value;
}
