/**
 * `npm run stress -- ledger [--requests=20000 --connections=32 --workers=1 --restarts=0 --database-restarts=0 --sample=500]`
 *
 * Books the token of every response of the real service, and then looks for the profile of each: tokens given = profiles stored, none
 * given twice, none lost. With `--restarts` the service is ended by SIGTERM and started anew that often, under load that never pauses;
 * with `--database-restarts` its PostgreSQL crashes that often and is away for 3 s, and as many may be missing as the service counts as
 * dropped. Prints one table; ends with 1 if the books do not balance.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { droppedOf, missingOf, untilStored } from './service/books.ts';
import { flood } from './service/load.ts';
import { openScene, type Scene, untilReady } from './service/scene.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '32' },
    workers: { type: 'string', default: '1' },
    restarts: { type: 'string', default: '0' },
    'database-restarts': { type: 'string', default: '0' },
    sample: { type: 'string', default: '500' },
  },
});
const requests = Number(values.requests);
const restarts = Number(values.restarts);
const databaseRestarts = Number(values['database-restarts']);

/** One request in so many is for a page that is not there, whose error page has a profile of its own. */
const MISS_EVERY = 100;
/** Milliseconds that the database is away. */
const AWAY_MS = 3000;
/** Milliseconds that a service lives between two restarts. */
const [SHORTEST_LIFE, LONGEST_LIFE] = [300, 1500];
/** Milliseconds that an end by SIGTERM may take. */
const ENDS_WITHIN = 25_000;
/** Responses in a row after which every worker has its database. */
const READY_ANSWERS = 20;

interface Booked {
  tokens: string[];
  responses: number;
  unanswered: number;
  withoutToken: number;
  /** Exit codes, and the longest end in milliseconds. */
  exits: (number | null)[];
  slowestExitMs: number;
}

async function endService({ service }: Scene, booked: Booked): Promise<void> {
  const startedAt = performance.now();
  booked.exits.push(await service.ended('SIGTERM'));
  booked.slowestExitMs = Math.max(booked.slowestExitMs, performance.now() - startedAt);
  for (const line of service.said().split('\n'))
    if (/lost|not stored|can't be stored|Uncaught|rejection/i.test(line)) console.error(line);
}

async function record(scene: Scene): Promise<Booked> {
  const booked: Booked = {
    tokens: [],
    responses: 0,
    unanswered: 0,
    withoutToken: 0,
    exits: [],
    slowestExitMs: 0,
  };
  let asked = 0;
  let over = false;
  const load = flood({
    port: scene.port,
    connections: Number(values.connections),
    next() {
      if (over || (restarts === 0 && asked >= requests)) return null;
      return ++asked % MISS_EVERY === 0 ? `/missing/${asked}` : '/';
    },
    answered({ status, tokens }) {
      if (status === 0) booked.unanswered++;
      else if (tokens.length === 0) booked.withoutToken++;
      else booked.responses++;
      booked.tokens.push(...tokens);
    },
  });
  for (let round = 1; round <= databaseRestarts; round++) {
    while (asked < (requests * round) / (databaseRestarts + 1)) await sleep(100);
    await scene.server.halt('SIGQUIT');
    await sleep(AWAY_MS);
    await scene.server.resume();
  }
  for (let round = 1; round <= restarts; round++) {
    await sleep(SHORTEST_LIFE + Math.random() * (LONGEST_LIFE - SHORTEST_LIFE));
    await endService(scene, booked);
    await scene.restart();
  }
  over = restarts > 0;
  await load;
  return booked;
}

/** How many of the tokens open in another process, as JSON and as a page. */
async function openedOf(port: number, tokens: readonly string[]): Promise<number> {
  let opened = 0;
  for (const token of tokens) {
    const json = await fetch(`http://127.0.0.1:${port}/_profiler/${token}.json`);
    const { profile } = (await json.json().catch(() => ({}))) as { profile?: { token: string } };
    const page = await (await fetch(`http://127.0.0.1:${port}/_profiler/${token}`)).text();
    if (profile?.token === token && page.includes(token)) opened++;
  }
  return opened;
}

async function run(scene: Scene): Promise<void> {
  await untilReady(scene.port, READY_ANSWERS);
  const booked = await record(scene);
  const dropped = restarts > 0 ? 0 : droppedOf((await untilStored(scene.port)).health);
  await endService(scene, booked);
  const { tokens, withoutToken, exits } = booked;
  const missing = await missingOf(scene, tokens, dropped > 0);
  const step = Math.max(1, Math.floor(tokens.length / Number(values.sample)));
  const sample = tokens.filter((_token, at) => at % step === 0);
  const opened = await openedOf(await scene.startAnother(), sample);
  const givenTwice = tokens.length - new Set(tokens).size;
  const isBalanced =
    missing.length === dropped &&
    givenTwice + withoutToken === 0 &&
    sample.length - opened <= dropped &&
    exits.every((code) => code === 0) &&
    booked.slowestExitMs < ENDS_WITHIN;
  if (!isBalanced) process.exitCode = 1;
  const table = {
    responses: booked.responses,
    'requests without a response': booked.unanswered,
    'responses without a token': withoutToken,
    'exits other than 0': exits.filter((code) => code !== 0).length,
    'slowest exit, ms': Math.round(booked.slowestExitMs),
    'tokens given (with those of error pages)': tokens.length,
    'given twice': givenTwice,
    'given, and not stored': missing.length,
    'counted as dropped by the service': dropped,
    [`opened by another process, of ${sample.length}`]: opened,
    verdict: isBalanced ? 'balanced' : 'DOES NOT BALANCE',
  };
  console.log('| | |\n| --- | --- |');
  for (const [name, value] of Object.entries(table)) console.log(`| ${name} | ${value} |`);
}

export async function main(): Promise<void> {
  const scene = await openScene({ env: { WEB_CONCURRENCY: values.workers } });
  try {
    await run(scene);
  } finally {
    await scene.close();
  }
}
