/**
 * The trace that a request belongs to, by W3C Trace Context (https://www.w3.org/TR/trace-context/): what its caller sent in `traceparent`,
 * else what was made up for its first outgoing call. It is read when it is needed, so that most requests never look for it.
 */
import { randomBytes } from 'node:crypto';
import { type Context, createSlot } from './context.ts';
import { rawHeader } from './raw-headers.ts';

export interface TraceContext {
  traceId: string;
  /** The caller's span, 16 hexadecimal digits; null: the trace begins with this request. */
  parentId: string | null;
  sampled: boolean;
  state?: string | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
/** What the recommendation says to pass on at least; longer ones are left out. */
const LONGEST_STATE = 512;
const TRACE_ID_BYTES = 16;

export function parseTraceparent(text: string): TraceContext | null {
  const [, version = 'ff', traceId = '', parentId = '', flags = '', more] =
    TRACEPARENT.exec(text.trim()) ?? [];
  // Later versions may append fields; this one has none.
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  return { traceId, parentId, sampled: (parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

function valuesOf(raw: readonly string[], wanted: string): string[] {
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === wanted);
}

function receivedBy(context: Context): TraceContext | null {
  const raw = context.first('request')?.rawHeaders ?? [];
  if (rawHeader(raw, 'traceparent') === null) return null;
  const [given = '', ...others] = valuesOf(raw, 'traceparent');
  const trace = others.length > 0 ? null : parseTraceparent(given);
  if (trace === null) return null;
  const state = valuesOf(raw, 'tracestate').join(',');
  return state === '' || state.length > LONGEST_STATE ? trace : { ...trace, state };
}

const begun = createSlot<TraceContext>('trace');

export function traceOf(context: Context): TraceContext | null {
  return begun.get(context) ?? receivedBy(context);
}

export function beginTrace(context: Context): TraceContext {
  const known = traceOf(context);
  if (known !== null) return known;
  const trace = { traceId: randomBytes(TRACE_ID_BYTES).toString('hex'), parentId: null, sampled: true };
  begun.set(context, trace);
  return trace;
}

const TOKEN_LENGTH = 6;
const SPAN_ID_LENGTH = 16;

export function spanIdOf({ token }: Pick<Context, 'token'>): string {
  return token + randomBytes((SPAN_ID_LENGTH - TOKEN_LENGTH) / 2).toString('hex');
}

/** Anybody can send such a header: believe it only of a request with the same trace id. */
export function tokenInSpan(spanId: string): string {
  return spanId.slice(0, TOKEN_LENGTH);
}
