/** The service's own ledger (`/_profiler/health.json`), and what is stored of the tokens that it gave. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scene } from './scene.ts';

/** What is read of one part of the service's own ledger, `/_profiler/health.json`. */
export interface Counts {
  tokens: number;
  stored: number;
  waiting: number;
  running: number;
  dropped: Record<string, number>;
  leftOut: Record<string, number>;
}

export function sumOf(of: Record<string, number>): number {
  return Object.values(of).reduce((sum, count) => sum + count, 0);
}

/** Tokens that are in no other count; 0 if all is well. */
export function uncounted({ tokens, stored, waiting, running, dropped, leftOut }: Counts): number {
  return tokens - stored - waiting - running - sumOf(dropped) - sumOf(leftOut);
}

export type Health = Record<'application', Counts>;

/** Milliseconds in which everything has to be stored once the fault is over. */
const STORED_WITHIN = 60_000;
const LOOK_EVERY = 50;

export function droppedOf({ application }: Health): number {
  return sumOf(application.dropped);
}

export async function readHealth(port: number): Promise<Health> {
  return (await (await fetch(`http://127.0.0.1:${port}/_profiler/health.json`)).json()) as Health;
}

/** Waits until nothing is left to store. */
export async function untilStored(port: number): Promise<{ health: Health; ms: number }> {
  const startedAt = performance.now();
  for (;;) {
    const health = await readHealth(port);
    const ms = performance.now() - startedAt;
    const { waiting, running } = health.application;
    if (ms > STORED_WITHIN || waiting + running === 0) return { health, ms };
    await sleep(LOOK_EVERY);
  }
}

/** Tokens that are in none of the tables. Unless some may miss, what lay in files has the time to get there. */
export async function missingOf(
  { query }: Pick<Scene, 'query'>,
  given: readonly string[],
  mayMiss = false,
  tables: readonly string[] = ['localhost.hindsight_profiles'],
): Promise<string[]> {
  const until = performance.now() + (mayMiss ? 0 : STORED_WITHIN);
  for (let missing = given; ;) {
    for (const table of tables) {
      const rows = await query<{ token: string }>(
        `select token from unnest($1::text[]) as given (token) where not exists (select from ${table} where token = given.token)`,
        [missing],
      );
      missing = rows.map(({ token }) => token);
    }
    if (missing.length === 0 || performance.now() > until) return [...missing];
    await sleep(LOOK_EVERY);
  }
}

/** Resolves with the first value for which `holds`, or the last one after `seconds`. */
export async function settle<T>(
  read: () => T | Promise<T>,
  holds: (value: T) => boolean,
  seconds: number,
): Promise<T> {
  const until = performance.now() + seconds * 1000;
  let value = await read();
  while (!holds(value) && performance.now() < until) {
    await sleep(250);
    value = await read();
  }
  return value;
}
