/**
 * `npm run stress -- ledger [--requests=20000 --connections=32 --workers=1 --restarts=0 --kills=0 --database-restarts=0 --sample=100]`
 *
 * Books the token of every response of the real service, and then looks for the record of each: tokens given = full records + summaries +
 * error pages + those that retention deleted + those that the service counted as dropped; none is given twice. Meanwhile, under load that
 * never pauses, the service is ended by SIGTERM and by SIGKILL and started anew, and its PostgreSQL crashes and is away for 3 s, as often
 * as asked. SIGKILL may cost the last moment. Prints one table; ends with 1 if the books do not balance.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { droppedOf, missingOf, readHealth, untilStored } from './service/books.ts';
import { flood, type Given } from './service/load.ts';
import { openScene, type Scene, untilReady } from './service/scene.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '32' },
    workers: { type: 'string', default: '1' },
    restarts: { type: 'string', default: '0' },
    kills: { type: 'string', default: '0' },
    'database-restarts': { type: 'string', default: '0' },
    sample: { type: 'string', default: '100' },
  },
});
const requests = Number(values.requests);

/** One request in so many is for a page that is not there, whose error page has a profile of its own. */
const MISS_EVERY = 100;
/** Milliseconds that the database is away. */
const AWAY_MS = 3000;
/** Milliseconds that an end by SIGTERM may take. */
const ENDS_WITHIN = 25_000;
/** Milliseconds before SIGKILL in which a response may have come whose record is lost: on a busy machine more than docs/reliability.md says. */
const KILL_MAY_COST = 2000;
/** Milliseconds in which the last responses of a process arrive that has ended. */
const ARRIVES_WITHIN = 50;
/** Responses in a row after which every worker has its database. */
const READY_ANSWERS = 20;

interface Booked {
  given: Given[];
  responses: number;
  unanswered: number;
  withoutToken: number;
  dropped: number;
  /** When nothing came any more of a process that SIGKILL had ended. */
  killedAt: number[];
  /** Exit codes after SIGTERM, and the longest end in milliseconds. */
  exits: (number | null)[];
  slowestExitMs: number;
}

async function endService({ port, service }: Scene, booked: Booked): Promise<void> {
  booked.dropped += droppedOf(await readHealth(port));
  const startedAt = performance.now();
  booked.exits.push(await service.ended('SIGTERM'));
  booked.slowestExitMs = Math.max(booked.slowestExitMs, performance.now() - startedAt);
  for (const line of service.said().split('\n'))
    if (/lost|not stored|can't be stored|Uncaught|rejection/i.test(line)) console.error(line);
}

const DISTURB = {
  async restarts(scene: Scene, booked: Booked) {
    await endService(scene, booked);
    await scene.restart();
  },
  async kills(scene: Scene, booked: Booked) {
    await scene.service.ended('SIGKILL');
    // What the process had sent arrives a moment after its end.
    await sleep(ARRIVES_WITHIN);
    booked.killedAt.push(performance.now());
    await scene.restart();
  },
  async 'database-restarts'(scene: Scene) {
    await scene.server.halt('SIGQUIT');
    await sleep(AWAY_MS);
    await scene.server.resume();
  },
};

/** Each of them as often as asked, in turn. */
function disturbances(): (keyof typeof DISTURB)[] {
  const kinds = Object.keys(DISTURB) as (keyof typeof DISTURB)[];
  const rounds = Math.max(...kinds.map((kind) => Number(values[kind])));
  return Array.from({ length: rounds }, (_, round) =>
    kinds.filter((kind) => round < Number(values[kind])),
  ).flat();
}

async function record(scene: Scene): Promise<Booked> {
  const booked: Booked = {
    given: [],
    responses: 0,
    unanswered: 0,
    withoutToken: 0,
    dropped: 0,
    killedAt: [],
    exits: [],
    slowestExitMs: 0,
  };
  let asked = 0;
  let isDisturbed = true;
  const load = flood({
    port: scene.port,
    connections: Number(values.connections),
    next() {
      if (!isDisturbed && booked.responses >= requests) return null;
      return ++asked % MISS_EVERY === 0 ? `/missing/${asked}` : '/';
    },
    answered({ status, tokens }) {
      if (status === 0) booked.unanswered++;
      else if (tokens.length === 0) booked.withoutToken++;
      else booked.responses++;
      for (const token of tokens) booked.given.push({ token, at: performance.now() });
    },
  });
  const all = disturbances();
  for (const [at, kind] of all.entries()) {
    while (booked.responses < (requests * (at + 1)) / (all.length + 1)) await sleep(100);
    await DISTURB[kind](scene, booked);
    await untilReady(scene.port);
  }
  isDisturbed = false;
  await load;
  return booked;
}

/** What retention deletes while requests go on is booked, too. */
const BOOK_DELETED = `
  create table public.deleted (token text primary key);
  create function public.book_deleted() returns trigger language plpgsql as $$ begin
    insert into public.deleted select token from gone on conflict do nothing; return null;
  end $$;
  create trigger book_deleted after delete on localhost.hindsight_profiles
    referencing old table as gone for each statement execute function public.book_deleted()`;
const TABLES = ['localhost.hindsight_profiles', 'public.deleted'];
const KINDS = `
  select case when summary is not null then 'summaries' when kind = 'error_page' then 'error pages' else 'full records' end as kind,
    count(*)::int from localhost.hindsight_profiles where kind <> 'profiler' group by 1 order by 1`;

/** The tokens that do not open in another process, as JSON and as a page. */
async function unopenedOf(port: number, tokens: readonly string[]): Promise<string[]> {
  const unopened: string[] = [];
  for (const token of tokens) {
    const json = await fetch(`http://127.0.0.1:${port}/_profiler/${token}.json`);
    const { profile } = (await json.json().catch(() => ({}))) as { profile?: { token: string } };
    const page = await (await fetch(`http://127.0.0.1:${port}/_profiler/${token}`)).text();
    if (profile?.token !== token || !page.includes(token)) unopened.push(token);
  }
  return unopened;
}

async function readDeleted({ query }: Scene): Promise<Set<string>> {
  const rows = await query<{ token: string }>('select token from public.deleted');
  return new Set(rows.map(({ token }) => token));
}

async function run(scene: Scene): Promise<void> {
  await untilReady(scene.port, READY_ANSWERS);
  await scene.query(BOOK_DELETED);
  const startedAt = performance.now();
  const booked = await record(scene);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStored(scene.port);
  await endService(scene, booked);
  const { given, withoutToken, dropped, exits, killedAt } = booked;
  const another = await scene.startAnother();
  const tokens = given.map(({ token }) => token);
  const missing = new Set(await missingOf(scene, tokens, dropped > 0, TABLES));
  /** Milliseconds before the next SIGKILL, of those that are missing. */
  const early = given.flatMap(({ token, at }) =>
    missing.has(token) ? [(killedAt.find((kill) => kill >= at) ?? Infinity) - at] : [],
  );
  const lost = early.filter((ms) => ms < KILL_MAY_COST);
  const kinds = await scene.query<{ kind: string; count: number }>(KINDS);
  const deleted = await readDeleted(scene);
  const kept = tokens.filter((token) => !missing.has(token) && !deleted.has(token));
  const step = Math.max(1, Math.floor(kept.length / Number(values.sample)));
  const sample = kept.filter((_token, at) => at % step === 0);
  const unopened = await unopenedOf(another, sample);
  // Retention goes on while they are opened.
  const deletedSince = await readDeleted(scene);
  const lostLater = unopened.filter((token) => !deletedSince.has(token));
  const givenTwice = tokens.length - new Set(tokens).size;
  const isBalanced =
    missing.size - lost.length === dropped &&
    givenTwice + withoutToken === 0 &&
    lostLater.length === 0 &&
    exits.every((code) => code === 0) &&
    booked.slowestExitMs < ENDS_WITHIN;
  if (!isBalanced) process.exitCode = 1;
  const table = {
    responses: `${booked.responses} in ${seconds.toFixed(0)} s`,
    'requests without a response': booked.unanswered,
    'responses without a token': withoutToken,
    'ends by SIGTERM, by SIGKILL': `${exits.length}, ${killedAt.length}`,
    'exits other than 0': exits.filter((code) => code !== 0).length,
    'slowest exit, ms': Math.round(booked.slowestExitMs),
    'tokens given (with those of error pages)': tokens.length,
    'given twice': givenTwice,
    ...Object.fromEntries(kinds.map(({ kind, count }) => [`stored: ${kind}`, count])),
    'stored, and deleted by retention': tokens.filter((token) => deleted.has(token)).length,
    'counted as dropped by the service': dropped,
    'lost by SIGKILL': `${lost.length}, the oldest ${Math.max(0, ...lost).toFixed(0)} ms before it`,
    'neither stored nor counted': missing.size - lost.length - dropped,
    'opened by another process': `${sample.length - unopened.length} of ${sample.length}, ${unopened.length - lostLater.length} deleted before`,
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
