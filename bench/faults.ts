/**
 * `npm run faults [-- --seconds=20 --rate=60 --only=stall]`
 *
 * Drives the built service under steady load while its PostgreSQL refuses, resets, stalls or is slow, behind a relay, and while the service
 * itself is killed. After each fault the books are balanced: tokens given = profiles stored, and the service's own
 * ledger (`/_profiler/health.json`) adds up. Prints one table; ends with 1 if a profile is missing or a response failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { mochaGlobalSetup as offerParts, mochaGlobalTeardown as stopParts } from '../test/support/run.ts';
import { type Relay, type RelayState, startRelay } from './faults/relay.ts';
import { freePort } from './harness/process.ts';
import { openPlace, type Place, SCHEMA } from './ledger/place.ts';
import { type LedgerService, startService, untilReady } from './ledger/service.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);

/** Seconds after a fault in which everything has to be stored. */
const RECOVERED_WITHIN = 30;
/** Milliseconds before SIGKILL in which what was answered may be lost (docs/reliability.md). */
const KILL_MAY_COST = 250;

/** What the tool reads of `/_profiler/health.json`. */
interface Counts {
  tokens: number;
  stored: number;
  waiting: number;
  running: number;
  left: number;
  dropped: Record<string, number>;
  leftOut: Record<string, number>;
}
type Health = Record<'application' | 'earlier', Counts>;

interface Given {
  token: string;
  at: number;
}

interface Load {
  given: Given[];
  failed: number;
  tookMs: number[];
}

/** An open loop: a request is sent when it is due, however long others take. */
async function ask(port: number, load: Load, until: () => boolean): Promise<void> {
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let due = 0; !until(); due++) {
    await sleep(Math.max(0, startedAt + (due * 1000) / rate - performance.now()));
    const sentAt = performance.now();
    const request: Promise<void> = fetch(`http://127.0.0.1:${port}/`)
      .then(async (response) => {
        await response.arrayBuffer();
        load.tookMs.push(performance.now() - sentAt);
        const token = response.headers.get('x-debug-token');
        if (token === null || response.status >= 500) load.failed++;
        else load.given.push({ token, at: performance.now() });
      })
      .catch(() => {
        load.failed++;
      })
      .finally(() => running.delete(request));
    running.add(request);
  }
  await Promise.all(running);
}

async function storedTokens(place: Place): Promise<Set<string>> {
  const tokens = await place.look((knex) =>
    knex.withSchema(SCHEMA).from('hindsight_profiles').pluck<string[]>('token'),
  );
  return new Set(tokens);
}

function sumOf(counts: Counts): number {
  const sum = (of: Record<string, number>): number => Object.values(of).reduce((a, b) => a + b, 0);
  const { stored, waiting, running, left, dropped, leftOut } = counts;
  return stored + waiting + running + left + sum(dropped) + sum(leftOut);
}

function p99(tookMs: number[]): string {
  return `${(tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? 0).toFixed(1)} ms`;
}

interface Row {
  fault: string;
  given: number;
  /** Not counted where the service is killed: what was on its way fails. */
  failed: number | 'not counted';
  p99: string;
  missing: number;
  dropped: number | 'not counted';
  recovered: string;
  isHeld: boolean;
}

async function health(port: number): Promise<Health> {
  return (await (await fetch(`http://127.0.0.1:${port}/_profiler/health.json`)).json()) as Health;
}

async function drive(name: string, state: RelayState, { port, relay, place }: Scene): Promise<Row> {
  const load: Load = { given: [], failed: 0, tookMs: [] };
  let over = false;
  const asking = ask(port, load, () => over);
  relay.set(state);
  await sleep(seconds * 1000);
  relay.set('pass');
  over = true;
  await asking;
  const passedAt = performance.now();
  let now = await health(port);
  while (
    now.application.waiting + now.application.running > 0 &&
    performance.now() - passedAt < RECOVERED_WITHIN * 1000
  ) {
    await sleep(50);
    now = await health(port);
  }
  const recoveredMs = performance.now() - passedAt;
  const stored = await storedTokens(place);
  const missing = load.given.filter(({ token }) => !stored.has(token)).length;
  const dropped = Object.values(now.application.dropped).reduce((a, b) => a + b, 0);
  const isHeld = missing === 0 && load.failed === 0 && sumOf(now.application) === now.application.tokens;
  return { fault: name, given: load.given.length, failed: load.failed, p99: p99(load.tookMs), missing, dropped, recovered: `${(recoveredMs / 1000).toFixed(1)} s`, isHeld }; // prettier-ignore
}

/** SIGKILL, with the database well or away: the next start stores what was left. */
async function kill(name: string, state: RelayState, scene: Scene): Promise<Row> {
  const load: Load = { given: [], failed: 0, tookMs: [] };
  scene.relay.set(state);
  let killedAt = Infinity;
  const asking = ask(scene.port, load, () => performance.now() >= killedAt);
  await sleep(Math.min(5, seconds) * 1000);
  killedAt = performance.now();
  await scene.service.kill();
  await asking;
  scene.relay.set('pass');
  const startedAt = performance.now();
  scene.service = await startService(scene.port, scene.env);
  await untilReady(scene.port);
  await health(scene.port);
  let now = await health(scene.port);
  while (now.earlier.waiting + now.earlier.running > 0) now = await health(scene.port);
  await sleep(1000);
  const recoveredMs = performance.now() - startedAt;
  const stored = await storedTokens(scene.place);
  const lost = load.given.filter(({ token }) => !stored.has(token));
  const oldest = Math.max(0, ...lost.map(({ at }) => killedAt - at));
  return { fault: `${name}: oldest lost ${oldest.toFixed(0)} ms before`, given: load.given.length, failed: 'not counted', p99: p99(load.tookMs), missing: lost.length, dropped: 'not counted', recovered: `${(recoveredMs / 1000).toFixed(1)} s`, isHeld: oldest <= KILL_MAY_COST }; // prettier-ignore
}

interface Scene {
  port: number;
  env: Record<string, string>;
  relay: Relay;
  place: Place;
  service: LedgerService;
}

const DRIVES: Record<string, (scene: Scene) => Promise<Row>> = {
  none: (scene) => drive('none', 'pass', scene),
  refuse: (scene) => drive('database refuses', 'refuse', scene),
  reset: (scene) => drive('connections are reset', 'reset', scene),
  stall: (scene) => drive('database hangs', 'stall', scene),
  delay: (scene) => drive('500 ms slower each way', { delayMs: 500 }, scene),
  kill: (scene) => kill('SIGKILL', 'pass', scene),
  'kill-away': (scene) => kill('SIGKILL, database away', 'refuse', scene),
};

await offerParts();
const place = await openPlace('postgresql');
const { DB_HOST: host = '', DB_PORT: dbPort = '' } = place.env;
const relay = await startRelay({ host, port: Number(dbPort) });
const port = await freePort();
const env = { ...place.env, DB_HOST: '127.0.0.1', DB_PORT: String(relay.port) };
const scene: Scene = { port, env, relay, place, service: await startService(port, env) };
try {
  await untilReady(port);
  console.log('| fault | tokens | failed | p99 | missing | dropped | all stored after | |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const [name, run] of Object.entries(DRIVES)) {
    if (values.only !== '' && values.only !== name) continue;
    const { isHeld, ...row } = await run(scene);
    console.log(`| ${Object.values(row).join(' | ')} | ${isHeld ? 'held' : 'NOT HELD'} |`);
    if (!isHeld) process.exitCode = 1;
  }
} finally {
  await scene.service.end();
  await relay.close();
  await place.close();
  await stopParts();
}
