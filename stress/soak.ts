/**
 * `npm run stress -- soak [--minutes=10 --rate=30 --round=60 --flood=10 --connections=100]`
 *
 * Mixed traffic to the built service on a real PostgreSQL, in rounds with a flood of error pages in the middle of each. At rest after each
 * round it prints what the process holds and what became of each token; at the end each token that was given is looked up in
 * the database. Ends with 1 if memory or handles grow, a response failed, or the counts do not add up.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { memoryOf } from '../bench/harness/cpu.ts';
import { droppedOf, missingOf, settle, sumOf, uncounted, untilStored } from './service/books.ts';
import { flood, type Kind, percentile, startLoad } from './service/load.ts';
import { openScene, type Scene } from './service/scene.ts';

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
const rounds = Math.max(1, Math.round((Number(values.minutes) * 60) / roundSeconds));

const UPLOAD_BYTES = 64 * 1024;
/** The share by which memory may be above that of before, and the seconds after the flood until then. */
const [COMES_BACK_TO, COMES_BACK_WITHIN] = [1.15, 60];
const MEGABYTE = 1024 * 1024;

function form(): RequestInit {
  return { method: 'POST', body: new URLSearchParams({ name: 'Ann', password: 'correct horse' }) };
}

function upload(): RequestInit {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(UPLOAD_BYTES)]), 'zeros.bin');
  return { method: 'POST', body };
}

/** What users of the service and of its pages do. */
const KINDS: readonly Kind[] = [
  { path: () => '/', status: 200 },
  { path: () => '/db', status: 200 },
  { path: (number) => `/missing/${number}`, status: 404 },
  { path: () => '/upload', status: 200, init: form },
  { path: () => '/broken', status: 500 },
  { path: () => '/upload', status: 200, init: upload },
  { path: () => '/', status: 405, init: () => ({ method: 'PUT', body: 'text' }) },
  { path: () => '/slow/200', status: null },
  { path: () => '/_profiler/', status: 200, isOwn: true },
  { path: (_number, latest) => `/_profiler/${latest}`, status: 200, isOwn: true },
  { path: () => '/_profiler/live', status: null, isOwn: true },
];

/** At rest, after a round. */
interface Sample {
  rssBytes: number;
  /** After garbage collection. */
  heapBytes: number;
  /** Sockets, servers, timers and the like that keep the process alive. */
  handles: number;
  descriptors: number;
}

/** What may grow, as a share and in units, whichever is more: a loaded machine needs room for both. */
const LIMITS: Record<keyof Sample, { share: number; atLeast: number }> = {
  rssBytes: { share: 0.15, atLeast: 32 * MEGABYTE },
  heapBytes: { share: 0.15, atLeast: 8 * MEGABYTE },
  handles: { share: 0, atLeast: 5 },
  descriptors: { share: 0, atLeast: 5 },
};

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** Compares the first and the last third of what is left after the first quarter, in which caches fill and code is compiled. */
function grownOf(samples: readonly Sample[]): string[] {
  if (samples.length < 3) return [];
  const settled = samples.slice(Math.max(1, Math.floor(samples.length / 4)));
  const third = Math.max(1, Math.floor(settled.length / 3));
  return Object.entries(LIMITS).flatMap(([name, { share, atLeast }]) => {
    const of = settled.map((sample) => sample[name as keyof Sample]);
    const [before, after] = [mean(of.slice(0, third)), mean(of.slice(-third))];
    return after > before + Math.max(before * share, atLeast)
      ? [`Grows: ${name}, from ${before.toFixed(0)} to ${after.toFixed(0)}.`]
      : [];
  });
}

async function floodOf(port: number): Promise<{ tokens: string[]; failed: number }> {
  const tokens: string[] = [];
  const until = performance.now() + floodSeconds * 1000;
  let failed = 0;
  await flood({
    port,
    connections: Number(values.connections),
    next: () => (performance.now() < until ? `/flood/${tokens.length}` : null),
    answered(answer) {
      if (answer.status === 0) failed++;
      tokens.push(...answer.tokens);
    },
  });
  return { tokens, failed };
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0)} MB`;
}

/** One round; prints its row. */
async function soak(scene: Scene): Promise<{ sample: Sample; tokens: string[]; problems: string[] }> {
  const { port } = scene;
  const rss = (): number => memoryOf(scene.pid());
  const quietMs = ((roundSeconds - floodSeconds) / 2) * 1000;
  const traffic = startLoad({
    ports: [port],
    rate: Number(values.rate),
    kinds: KINDS,
  });
  await sleep(quietMs);
  const before = rss();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, rss())), 100);
  const flooded = await floodOf(port);
  clearInterval(watch);
  await sleep(quietMs);
  await traffic.end();
  const { health } = await untilStored(port);
  const rssBytes = await settle(rss, (bytes) => bytes <= before * COMES_BACK_TO, COMES_BACK_WITHIN);
  const vitals = await (await fetch(`http://127.0.0.1:${port}/vitals`)).json();
  const sample: Sample = { rssBytes, ...(vitals as Omit<Sample, 'rssBytes'>) };
  const { tokens, stored, dropped, leftOut } = health.application;
  const tookMs = [percentile(traffic.tookMs, 0.5), percentile(traffic.tookMs, 0.99)];
  const cells = [traffic.given.length, flooded.tokens.length, ...tookMs, megabytes(before), megabytes(peak), megabytes(rssBytes), megabytes(sample.heapBytes), sample.handles, sample.descriptors, tokens, stored, sumOf(dropped), sumOf(leftOut)]; // prettier-ignore
  console.log(`| ${cells.join(' | ')} |`);
  const failed = traffic.failures.length + flooded.failed;
  return {
    sample,
    tokens: [...traffic.given.map(({ token }) => token), ...flooded.tokens],
    problems: [
      ...(failed > 0 ? [`${failed} requests failed: ${traffic.failures[0] ?? 'in the flood'}.`] : []),
      ...(uncounted(health.application) === 0
        ? []
        : [`${uncounted(health.application)} of ${tokens} tokens are in no count.`]),
    ],
  };
}

const HEAD = ['tokens', 'of the flood', 'p50', 'p99', 'RSS before', 'peak', 'then', 'heap', 'handles', 'descriptors', 'given', 'stored', 'dropped', 'not stored']; // prettier-ignore

export async function main(): Promise<void> {
  const scene = await openScene();
  try {
    console.log(`| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}`);
    const done: Awaited<ReturnType<typeof soak>>[] = [];
    for (let round = 0; round < rounds; round++) done.push(await soak(scene));
    const lost = droppedOf((await untilStored(scene.port)).health);
    const tokens = done.flatMap((round) => round.tokens);
    const missing = await missingOf(scene, tokens, lost > 0);
    const givenTwice = tokens.length - new Set(tokens).size;
    const problems = [
      ...done.flatMap((round) => round.problems),
      ...grownOf(done.map(({ sample }) => sample)),
    ];
    if (missing.length > lost) problems.push(`${missing.length - lost} profiles are lost and in no count.`);
    if (givenTwice > 0) problems.push(`${givenTwice} tokens were given twice.`);
    console.log(
      `${tokens.length} tokens given, ${missing.length} of them not stored, ${lost} counted as dropped. Load of the machine: ${loadavg()[0]?.toFixed(1)}.`,
    );
    for (const problem of problems) console.log(problem);
    if (problems.length === 0) console.log('Nothing grows, and all counts add up.');
    else process.exitCode = 1;
  } finally {
    await scene.close();
  }
}
