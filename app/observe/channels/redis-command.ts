/**
 * The channel of the patches of ioredis and node-redis. Both libraries have channels of their own since 5.11 and 5.12, which hide the keys of
 * MGET, HGET, HGETALL and others as `?`, know nothing of ioredis commands that wait for a connection, and silence a rejection that
 * the application leaves unhandled. So these patches serve all versions.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import type { Traced } from './trace.ts';

export interface RedisCommand extends Traced {
  client: 'ioredis' | 'redis';
  name: string;
  args: readonly unknown[];
  connection: string | null;
  batch: 'pipeline' | 'transaction' | null;
  /** When it was handed to the connection, by `performance.now()`; null: when it was made. */
  sentMark: number | null;
  queuedMs?: number;
}

export const redisChannels = {
  ioredis: tracingChannel('express-hindsight:ioredis:command'),
  redis: tracingChannel('express-hindsight:redis:command'),
};

export function addressOf(
  { path, host, port }: { path?: unknown; host?: unknown; port?: unknown },
  database: unknown,
): string {
  const number = typeof port === 'number' || typeof port === 'string' ? port : 6379;
  const address =
    typeof path === 'string' ? path : `${typeof host === 'string' ? host : 'localhost'}:${number}`;
  return typeof database === 'number' && database > 0 ? `${address}/${database}` : address;
}
