/**
 * From spawn to the first answer: the bare application against the same with the profiler, and against the service with
 * PostgreSQL outside, with the embedded one on an existing folder, and on an empty one. The service is started as the
 * Procfile does. Interleaved rounds.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshVarDir } from '../../test/support/postgres.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { rootFolder } from '../harness/folders.ts';
import { startProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

const ROUNDS = 7;
/** Milliseconds that a service with an embedded server gets to have it up, so that its folder exists. */
const SETTLE_MS = 4000;

async function startService(env: Record<string, string>, settleMs = 0): Promise<number> {
  const file = join(rootFolder, 'bin', 'start.js');
  const service = await startProcess({ file, env: { APP_ENV: 'dev', ...env } });
  await sleep(settleMs);
  await service.stop();
  return service.startMs;
}

async function startApplication(bench: Bench, variant: 'bare' | 'hindsight'): Promise<number> {
  const server = await bench.serve(variant);
  await server.stop();
  return server.startMs;
}

async function onEmptyFolder(): Promise<number> {
  const folder = freshVarDir();
  const startMs = await startService({ VAR_DIR: folder }, SETTLE_MS);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  return startMs;
}

async function measure(bench: Bench): Promise<Record<string, number[]>> {
  const { host, port, user, database } = (await bench.database()).connection;
  const outside = { DB_HOST: host, DB_PORT: String(port), DB_USER: user, DB_NAME: database };
  const [existing, unused] = [freshVarDir(), freshVarDir()];
  await startService({ VAR_DIR: existing }, SETTLE_MS);
  const times: Record<string, number[]> = {};
  const note = (name: string, ms: number): void => void (times[name] ??= []).push(ms);
  for (let round = 0; round < ROUNDS; round++) {
    note('bare', await startApplication(bench, 'bare'));
    note('mounted', await startApplication(bench, 'hindsight'));
    note('outside', await startService({ VAR_DIR: unused, ...outside }));
    note('existing', await startService({ VAR_DIR: existing }));
    if (round % 3 === 0) note('empty', await onEmptyFolder());
  }
  for (const folder of [existing, unused])
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  return times;
}

export const start: Row = {
  name: 'start',
  what: 'from spawn to the first answer',
  async run(bench): Promise<Figure[]> {
    const times = await measure(bench);
    const bare = spreadOf(times.bare ?? []);
    const ratio = (name: string) => spreadOf((times[name] ?? []).map((ms) => ms / bare.median));
    const later = spreadOf((times.empty ?? []).map((ms) => ms - bare.median));
    return [
      { what: 'start: the bare application', unit: 'ms', spread: bare },
      { what: 'start: the application with the profiler', unit: 'x bare', spread: ratio('mounted') },
      { what: 'start: the service, PostgreSQL outside', unit: 'x bare', spread: ratio('outside') },
      { what: 'start: the service, embedded, existing folder', unit: 'x bare', spread: ratio('existing') },
      { what: 'start: the service, embedded, empty folder', unit: 'ms more', spread: later },
    ];
  },
};
