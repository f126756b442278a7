/** Number of spans in what an exporter sent: OTLP in protobuf, or dd-trace's MessagePack (`/v0.4/traces`: traces of spans). */
import { decodeProtobuf } from '../../test/support/otlp-collector.ts';

/** Bytes of a value behind its first byte, of those that have no content of their own. */
const SIZES: Readonly<Record<number, number>> = {
  0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8, 0xd4: 2, 0xd5: 3, 0xd6: 5, 0xd7: 9, 0xd8: 17,
}; // prettier-ignore

interface Head {
  /** Where its content begins. */
  at: number;
  /** Bytes of content. */
  bytes: number;
  /** Values in it. */
  values: number;
}

/** https://github.com/msgpack/msgpack/blob/master/spec.md */
function headOf(body: Buffer, start: number): Head {
  const type = body[start] ?? 0xc0;
  const at = start + 1;
  const lengthOf = (size: number): number => body.readUIntBE(at, size);
  const of = (bytes: number, values = 0, size = 0): Head => ({ at: at + size, bytes, values });
  if (type >= 0x80 && type <= 0x8f) return of(0, 2 * (type & 15));
  if (type >= 0x90 && type <= 0x9f) return of(0, type & 15);
  if (type >= 0xa0 && type <= 0xbf) return of(type & 31);
  if (type >= 0xc4 && type <= 0xc6) return of(lengthOf(1 << (type - 0xc4)), 0, 1 << (type - 0xc4));
  if (type >= 0xc7 && type <= 0xc9) return of(lengthOf(1 << (type - 0xc7)) + 1, 0, 1 << (type - 0xc7));
  if (type >= 0xd9 && type <= 0xdb) return of(lengthOf(1 << (type - 0xd9)), 0, 1 << (type - 0xd9));
  if (type === 0xdc || type === 0xdd) return of(0, lengthOf(type === 0xdc ? 2 : 4), type === 0xdc ? 2 : 4);
  if (type === 0xde || type === 0xdf)
    return of(0, 2 * lengthOf(type === 0xde ? 2 : 4), type === 0xde ? 2 : 4);
  return of(SIZES[type] ?? 0);
}

/** Where the value ends. */
function skip(body: Buffer, start: number): number {
  const { at, bytes, values } = headOf(body, start);
  let end = at + bytes;
  for (let index = 0; index < values; index++) end = skip(body, end);
  return end;
}

function spansInMessagePack(body: Buffer): number {
  const traces = headOf(body, 0);
  let spans = 0;
  let at = traces.at;
  for (let index = 0; index < traces.values; index++) {
    spans += headOf(body, at).values;
    at = skip(body, at);
  }
  return spans;
}

export function countSpans(path: string, body: Buffer): number {
  if (path === '/v0.4/traces') return spansInMessagePack(body);
  if (path !== '/v1/traces') return 0;
  return decodeProtobuf('traces', body)
    .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
    .reduce((sum, { spans }) => sum + spans.length, 0);
}
