/**
 * `npm run stress -- soak [--minutes=10 --rate=30 --round=60 --flood=10 --connections=100]`
 *
 * Mixed traffic to the built service on a real PostgreSQL, in rounds with a flood of error pages in the middle of each. At rest after each
 * round it prints what the process holds and what became of each token; at the end each token that was given is looked up in
 * the database. Ends with 1 if memory or handles grow, a response failed, or the counts do not add up.
 */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { settle } from './faults/limits.ts';
import { rootFolder } from '../bench/harness/folders.ts';
import { startProcess, type MeasuredProcess } from '../bench/harness/process.ts';
import { quantile } from '../bench/harness/statistics.ts';
import { createAccount } from './ledger/account.ts';
import { openPlace, type Place } from './ledger/place.ts';
import { RETENTION, untilReady } from './ledger/service.ts';
import { bookStored } from './ledger/verify.ts';
import { startProber } from './soak/prober.ts';
import { flood, startTraffic } from './soak/traffic.ts';
import { sumOf } from './faults/books.ts';
import { problemsOf, type Sample } from './soak/verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '30' },
    round: { type: 'string', default: '60' },
    flood: { type: 'string', default: '10' },
    connections: { type: 'string', default: '100' },
  },
});
const roundSeconds = Number(values.round);
const floodSeconds = Math.min(Number(values.flood), roundSeconds);
const connections = Number(values.connections);
const rounds = Math.max(1, Math.round((Number(values.minutes) * 60) / roundSeconds));

/** Seconds at the end of a round in which everything has to be stored. */
const SETTLED_WITHIN = 60;
const LOOK_EVERY = 100;
/** The share by which memory may be above that of before, and the seconds after the flood until then. */
const [COMES_BACK_TO, COMES_BACK_WITHIN] = [1.15, 60];
/** A busy machine may take its time. */
const START_WITHIN_MS = 120_000;
const MEGABYTE = 1024 * 1024;

interface Vitals {
  heapBytes: number;
  handles: number;
  descriptors: number;
  loopP99Ms: number;
  loopMaxMs: number;
}

async function startService(place: Place): Promise<MeasuredProcess> {
  return startProcess({
    file: join(rootFolder, 'dist', 'app', 'server.js'),
    nodeOptions: [
      '--expose-gc',
      '--import',
      pathToFileURL(join(rootFolder, 'stress', 'soak', 'owner-routes.mjs')).href,
    ],
    env: { APP_ENV: 'dev', ...RETENTION, ...place.env },
    startWithinMs: START_WITHIN_MS,
  });
}

async function counts(port: number): Promise<Pick<Sample, 'application' | 'profiler'>> {
  const response = await fetch(`http://127.0.0.1:${port}/_profiler/health.json`, {
    headers: { connection: 'close' },
  });
  return (await response.json()) as Pick<Sample, 'application' | 'profiler'>;
}

/** Nothing waits to be stored and no request runs. */
async function untilSettled(port: number): Promise<void> {
  const until = performance.now() + SETTLED_WITHIN * 1000;
  for (;;) {
    const { waiting, running } = (await counts(port)).application;
    if (waiting + running === 0 || performance.now() > until) return;
    await sleep(LOOK_EVERY);
  }
}

/** Highest resident memory until the returned function is called. */
function watchPeak(service: MeasuredProcess): () => number {
  let peak = service.memory();
  const timer = setInterval(() => (peak = Math.max(peak, service.memory())), LOOK_EVERY);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0)} MB`;
}

const HEAD = ['minute', 'requests', 'flood', 'others p50', 'p99', 'RSS before', 'peak', 'then', 'heap', 'handles', 'descriptors', 'loop p99', 'max', 'tokens', 'stored', 'dropped', 'not stored']; // prettier-ignore

async function soak(service: MeasuredProcess, place: Place): Promise<string[]> {
  const { port } = service;
  const account = createAccount();
  const samples: Sample[] = [];
  let failed = 0;
  const startedAt = performance.now();
  console.log(`| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}`);
  for (let round = 0; round < rounds; round++) {
    const traffic = startTraffic({ port, perSecond: Number(values.rate), account });
    const quietMs = ((roundSeconds - floodSeconds) / 2) * 1000;
    await sleep(quietMs);
    const before = service.memory();
    const peakOf = watchPeak(service);
    const prober = await startProber(port);
    const { pages, broken } = await flood({ port, account }, { connections, seconds: floodSeconds });
    const floodedAt = performance.now();
    const probed = await prober.take();
    prober.stop();
    await sleep(quietMs);
    await traffic.stop();
    await untilSettled(port);
    const peak = peakOf();
    const secondsAfter = (): number => (performance.now() - floodedAt) / 1000;
    const isBack = (bytes: number): boolean => bytes <= before * COMES_BACK_TO;
    const within = Math.min(COMES_BACK_WITHIN, roundSeconds) - secondsAfter();
    const rssBytes = await settle(() => service.memory(), isBack, within);
    const backAfter = secondsAfter();
    const { loopP99Ms, loopMaxMs, ...vitals } = (await service.ask('vitals')) as Vitals;
    const sample = { rssBytes, ...vitals, ...(await counts(port)) };
    samples.push(sample);
    failed += traffic.failed + broken + probed.failed;
    const { tokens, stored, dropped, leftOut } = sample.application;
    const cells = [((performance.now() - startedAt) / 60_000).toFixed(1), traffic.asked, pages, `${quantile(probed.latencies, 0.5).toFixed(0)} ms`, `${quantile(probed.latencies, 0.99).toFixed(0)} ms`, megabytes(before), megabytes(peak), `${megabytes(rssBytes)} after ${backAfter.toFixed(0)} s`, megabytes(vitals.heapBytes), vitals.handles, vitals.descriptors, `${loopP99Ms.toFixed(0)} ms`, `${loopMaxMs.toFixed(0)} ms`, tokens, stored, sumOf(dropped), sumOf(leftOut)]; // prettier-ignore
    console.log(`| ${cells.join(' | ')} |`);
  }
  await bookStored(place.knex, account);
  const { given, missing, givenTwice } = account.totals();
  const lost = sumOf(samples.at(-1)?.application.dropped ?? {});
  console.log(
    `${given} tokens given, ${missing} of them not stored, ${lost} counted as dropped. Load of the machine: ${loadavg()[0]?.toFixed(1) ?? '?'}.`,
  );
  return [
    ...problemsOf(samples),
    ...(missing > lost ? [`${missing - lost} profiles are lost and in no count.`] : []),
    ...(givenTwice > 0 ? [`${givenTwice} tokens were given twice.`] : []),
    ...(failed > 0 ? [`${failed} requests failed.`] : []),
  ];
}

export async function main(): Promise<void> {
  const place = await openPlace();
  let service: MeasuredProcess | null = null;
  try {
    service = await startService(place);
    await untilReady(service.port);
    const problems = await soak(service, place);
    for (const problem of problems) console.log(problem);
    console.log(
      problems.length === 0 ? 'Nothing grows, and all counts add up.' : `Found: ${problems.length}.`,
    );
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await service?.stop();
    await place.close();
  }
}
