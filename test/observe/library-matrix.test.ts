/** The table of docs/libraries.md: what is seen of each library, in its versions, by an application behind `hindsight(app)`. */
import { expect } from 'chai';
import express from 'express';
import type { Server } from 'node:http';
import { hindsight, type Profiler } from '../../app/index.ts';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import type { KeptPlans } from '../../app/profiler/read/query-plan.ts';
import { type LibraryCase, libraryCases, loadFrom, type Servers, type Work } from '../libraries/cases.ts';
import { readFileSync } from 'node:fs';
import { close, listen } from '../support/listen.ts';
import { withMariadb } from '../support/mariadb.ts';
import { startMongod } from '../support/mongod.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { MongoClient } from 'mongodb';
import mysql from 'mysql2';

/** Four times the connections; test/database/driver-matrix.test.ts has each way to ask, and fails and stops them. */
const REQUESTS = 8;
/** Ids of four digits, so that none is a part of another number. */
const FIRST = 1001;
const ROWS = 1200;
const EXPLAIN_MS = 40;

/** Of the table in docs/libraries.md. */
const COLUMNS = 10;
const MAJOR = Number.parseInt(process.versions.node, 10);

type Query = DatabaseData['queries'][number] & { sql: string; label: string };

interface Seen {
  queries: Query[];
  groups: DatabaseData['groups'];
  plans: number;
}

/** All of them after `npm run libraries`. */
const INSTALLED = libraryCases.flatMap((one) => {
  const load = loadFrom(one);
  return load === null ? [] : [[one, load] as const];
});

describe('libraries of databases, in an application', () => {
  const postgres = withPostgres();
  const mariadb = withMariadb();
  let mongod: Awaited<ReturnType<typeof startMongod>>;
  let servers: Servers;

  before(async () => {
    mongod = await startMongod();
    servers = { postgres: postgres().connection, mysql: mariadb(), mongodb: mongod.url };
    const knex = openKnex(servers.postgres);
    await knex.raw('create table things (id int primary key, name text)');
    await knex.raw(`insert into things select i, 'thing ' || i from generate_series(1, ${ROWS}) i`);
    await knex.destroy();
    const { database, ...connection } = servers.mysql;
    const first = mysql.createConnection(connection).promise();
    await first.query(`create database if not exists ${database}`);
    await first.query(`use ${database}`);
    await first.query('create table things (id int primary key, name text)');
    await first.query(`insert into things select seq, seq from seq_1_to_${ROWS}`);
    await first.end();
    const client = await MongoClient.connect(mongod.url);
    await client
      .db()
      .collection('things')
      .insertMany(Array.from({ length: ROWS }, (_, id) => ({ id })));
    await client.close();
  });
  after(() => mongod?.stop());

  for (const [one, load] of INSTALLED)
    describe(one.name, () => {
      let work: Work;
      let profiler: Profiler;
      let server: Server;
      let origin: string;
      const all: Seen[] = [];

      before(async () => {
        const app = express();
        profiler = hindsight(app, { explainMs: EXPLAIN_MS, enabled: true });
        work = await one.open(load, servers);
        serve(app, work);
        ({ server, origin } = await listen(app));
        // First: few plans are made in a second, and of many requests at once some are slow on a busy machine.
        await seenAt('/slow');
      });
      after(async () => {
        await close(server, work);
        await profiler.close();
      });

      async function seenAt(path: string): Promise<Seen> {
        const response = await fetch(origin + path);
        expect(response.status, await response.text()).to.equal(200);
        const token = response.headers.get('x-debug-token') ?? '';
        if (path === '/slow' && isPlanned(one))
          await until(async () => (await plansOf(token)) > 0, 'the plan');
        const found = await profiler.profiles.read(token);
        const data = found?.profile.panels.database?.data as DatabaseData | null | undefined;
        const queries = (data?.queries ?? []).map((query) => ({ ...query, ...data?.statements[query.statement] }) as Query); // prettier-ignore
        const seen = { queries, groups: data?.groups ?? [], plans: await plansOf(token) };
        all.push(seen);
        return seen;
      }

      async function plansOf(token: string): Promise<number> {
        const found = await profiler.profiles.read(token);
        return (found?.amendments.plan as KeptPlans | undefined)?.plans.length ?? 0;
      }

      it(`keeps ${REQUESTS} requests that run at once apart`, async () => {
        const ids = Array.from({ length: REQUESTS }, (_, index) => FIRST + index);
        const seen = await Promise.all(ids.map((id) => seenAt(`/one/${id}`)));
        for (const [index, { queries }] of seen.entries()) {
          const told = queries.map(({ sql, bindings }) => JSON.stringify([sql, bindings])).join();
          const found = new Set([...told.matchAll(/\b100\d\b/g)].map(([id]) => Number(id)));
          expect([...found]).to.deep.equal([FIRST + index]);
        }
      });

      it('is seen as docs/libraries.md says', async () => {
        await seenAt('/loop');
        await seenAt('/transaction');
        expect(rowOf(one.name, all)).to.deep.equal(documentedRow(one.name));
      });
    });
});

function serve(app: express.Express, work: Work): void {
  app.get('/one/:id', async (request, response) => {
    await work.one(Number(request.params.id));
    response.send('one');
  });
  app.get('/loop', async (_request, response) => {
    for (const id of [FIRST, FIRST + 1, FIRST + 2]) await work.one(id);
    response.send('loop');
  });
  app.get('/transaction', async (_request, response) => {
    await work.transaction?.(FIRST);
    response.send('transaction');
  });
  app.get('/slow', async (_request, response) => {
    await work.slow?.();
    response.send('slow');
  });
}

/** `from Node 26` is `yes` or `no`, by the version that runs, and `partly; from Node 26` is `yes` or `partly`. */
function resolved(cell: string): string {
  const [, before = 'no', from] = /^(?:(partly); )?from Node (\d+)$/.exec(cell) ?? [];
  return from === undefined ? cell : MAJOR >= Number(from) ? 'yes' : before;
}

/** The cells of the row of docs/libraries.md that begins with this name; none where there is no such row. */
function documentedRow(library: string): string[] {
  const rows = readFileSync('docs/libraries.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const row = rows.find(([, name, ...rest]) => name === library && rest.length >= COLUMNS);
  return row?.slice(1, COLUMNS + 1).map(resolved) ?? [];
}

/** By the table, so that a plan that should come is waited for. */
function isPlanned({ name }: LibraryCase): boolean {
  return documentedRow(name)[8] === 'yes';
}

/** Name; duration, caller, values, rows, transaction, pool wait, N+1, plan, label. */
function rowOf(name: string, all: readonly Seen[]): string[] {
  const queries = all.flatMap((seen) => seen.queries);
  // What a library asks a new connection, and what begins and ends a transaction, has no line of the application.
  const asked = queries.filter(({ sql }) => sql.includes('things'));
  const told = (matching: (query: Query) => boolean): string => {
    const count = asked.filter(matching).length;
    return count === 0 ? 'no' : count === asked.length ? 'yes' : 'partly';
  };
  const any = (is: boolean): string => (is ? 'yes' : 'no');
  const labels = [...new Set(asked.flatMap(({ label }) => /^Thing\.\w+/.exec(label)?.[0] ?? []))];
  return [
    name,
    told(({ durationMs }) => durationMs !== null),
    told(({ caller }) => /^test\/(?!.*node_modules)/.test(caller ?? '')),
    any(asked.some(({ bindings }) => bindings.length > 0)),
    any(asked.some(({ rows }) => rows === 1)),
    any(queries.some(({ transaction }) => transaction !== null)),
    any(queries.some(({ waitMs }) => waitMs > 0)),
    any(all.some(({ groups }) => groups.some(({ kind, members }) => kind === 'n+1' && members.length === 3))),
    any(all.some(({ plans }) => plans > 0)),
    labels.join(', ') || 'no',
  ];
}
