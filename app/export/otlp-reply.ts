/** What a collector's reply says: whether to try again and when, and how many records it refused. */
import type { Reply } from './otlp-post.ts';

/** Of OTLP/HTTP; all others are final. */
const RETRYABLE = new Set([429, 502, 503, 504]);

export function isAccepted({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

export function isRetryable({ status }: Reply): boolean {
  return RETRYABLE.has(status);
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, 10.2.3); null if it is absent or malformed. */
export function retryAfterMs({ retryAfter }: Reply, now = Date.now()): number | null {
  if (retryAfter === null) return null;
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter) * 1000;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** A varint and the index behind it. */
function varintAt(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0;
  for (let index = at, unit = 1; index < bytes.length; index++, unit *= 128) {
    const byte = bytes[index] ?? 0;
    value += (byte & 0x7f) * unit;
    if (byte < 0x80) return [value, index + 1];
  }
  return [0, bytes.length];
}

/** `partial_success` is field 1 of the reply, the number of refused records field 1 of it. */
function rejectedInProtobuf(body: Buffer): number {
  if (body[0] !== 0x0a) return 0;
  const [, inner] = varintAt(body, 1);
  return body[inner] === 0x08 ? varintAt(body, inner + 1)[0] : 0;
}

function rejectedInJson(body: Buffer): number {
  try {
    const { partialSuccess = {} } = JSON.parse(body.toString()) as {
      partialSuccess?: Record<string, unknown>;
    };
    const count = Number(partialSuccess.rejectedSpans ?? partialSuccess.rejectedLogRecords ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

/** Spans or log records that were refused although the request was accepted. */
export function rejectedIn({ body }: Reply, isJson: boolean): number {
  return isJson ? rejectedInJson(body) : rejectedInProtobuf(body);
}
