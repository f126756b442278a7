/** The load: so many requests to one service, or as many as it takes to restart it so often; every token is booked. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../bench/harness/process.ts';
import type { Account } from './account.ts';
import { runLoad } from './load.ts';
import type { Place } from './place.ts';
import { startService, untilReady, type LedgerService } from './service.ts';
import { droppedOf, untilStored } from '../faults/books.ts';
import { untilVisible } from './verify.ts';

export interface RecordOptions {
  place: Place;
  account: Account;
  /** Answers, where nothing is restarted. */
  requests: number;
  connections: number;
  workers: number;
  restarts: number;
  /** Of the database, as after a crash, spread over the requests. */
  databaseRestarts: number;
  log: (line: string) => void;
}

export interface Recording {
  answers: number;
  /** Requests sent on connections that ended without an answer. */
  broken: number;
  withoutToken: number;
  seconds: number;
  /** What the service itself counts as lost; known if its database is restarted, and it is not. */
  dropped: number;
  exits: (number | null)[];
  slowestExitMs: number;
  /** What the service said of profiles that it could not store. */
  complaints: string[];
  /** Milliseconds from the last answer until another session sees all; null where that was not looked at, or took too long. */
  visibleAfterMs: number | null;
  port: number;
  env: Record<string, string>;
}

/** One request in so many is for a page that is not there, whose error page has a profile of its own. */
const MISS_EVERY = 100;
const STORED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;
/** Milliseconds that the database is away. */
const AWAY_MS = 3000;
/** Milliseconds that a service lives between two restarts. */
const SHORTEST_LIFE = 300;
const LONGEST_LIFE = 1500;

function complaintsOf(said: string): string[] {
  return said.split('\n').filter((line) => /lost|not stored|can't be stored|Uncaught|rejection/i.test(line));
}

export async function record(options: RecordOptions): Promise<Recording> {
  const { place, account, requests, connections, workers, restarts, databaseRestarts, log } = options;
  const recording: Recording = {
    answers: 0,
    broken: 0,
    withoutToken: 0,
    seconds: 0,
    dropped: 0,
    exits: [],
    slowestExitMs: 0,
    complaints: [],
    visibleAfterMs: null,
    port: await freePort(),
    env: { ...place.env, WEB_CONCURRENCY: String(workers) },
  };
  let asked = 0;
  let booked = 0;
  let over = false;

  function nextPath(): string | null {
    if (over || (restarts === 0 && asked >= requests)) return null;
    asked++;
    if (restarts === 0 && asked % Math.ceil(requests / 10) === 0) log(`  ${asked} requests`);
    return asked % MISS_EVERY === 0 ? `/missing/${asked}` : '/';
  }

  function book(token: string | null): void {
    if (token === null) return;
    booked++;
    account.give(token);
  }

  const start = (): Promise<LedgerService> => startService(recording.port, recording.env);

  async function end(service: LedgerService): Promise<void> {
    const { code, ms } = await service.end();
    recording.exits.push(code);
    recording.slowestExitMs = Math.max(recording.slowestExitMs, ms);
    recording.complaints.push(...complaintsOf(service.said()));
  }

  async function restartDatabase(): Promise<void> {
    for (let round = 1; round <= databaseRestarts; round++) {
      while (asked < (requests * round) / (databaseRestarts + 1)) await sleep(LOOK_EVERY_MS);
      await place.crash(AWAY_MS);
      log(`  ${round} restarts of the database`);
    }
  }

  let service = await start();
  if (restarts === 0) await untilReady(recording.port);
  const startedAt = performance.now();
  const load = runLoad({
    port: recording.port,
    connections,
    next: nextPath,
    answered({ token, child }) {
      recording.answers++;
      if (token === null) recording.withoutToken++;
      book(token);
      book(child);
    },
    broken: () => recording.broken++,
  });
  const crashes = restartDatabase();
  for (let round = 1; round <= restarts; round++) {
    await sleep(SHORTEST_LIFE + Math.random() * (LONGEST_LIFE - SHORTEST_LIFE));
    await end(service);
    service = await start();
    if (round % 10 === 0) log(`  ${round} restarts`);
  }
  over = restarts > 0;
  await Promise.all([load, crashes]);
  recording.seconds = (performance.now() - startedAt) / 1000;
  if (restarts === 0) recording.visibleAfterMs = await untilVisible(place.knex, booked, STORED_WITHIN_MS);
  if (databaseRestarts > 0 && restarts === 0)
    recording.dropped = droppedOf((await untilStored(recording.port)).health);
  await end(service);
  return recording;
}
