/** Faults of the database: it is away, stands still, is slow, full, changed or crowded. */
import { setTimeout as sleep } from 'node:timers/promises';
import { untilReady } from '../ledger/service.ts';
import { balance, driveDatabase, type Fault, underLoad, withScene } from './drive.ts';
import { fillDisk, freeze, withSmallDisk } from './machine.ts';
import { missingOf, untilStored } from './books.ts';
import { percentile, startLoad } from './load.ts';
import type { RelayState } from './relay.ts';
import type { Scene } from './scene.ts';

/** Milliseconds that the service may take to listen without its database. */
const LISTENS_WITHIN = 5000;
const PASSWORD = 'a-password-of-the-database';

function behindRelay(number: string, name: string, title: string, state: RelayState): Fault {
  return {
    number,
    name,
    title,
    drive: (options, report) =>
      driveDatabase(options, report, {
        begin: ({ relay }) => {
          relay.set(state);
        },
        end: ({ relay }) => {
          relay.set('pass');
        },
      }),
  };
}

/** The table of the owner's migrations, as it is under load. */
function migrations(state: string, title: string, sql: string): Fault {
  return {
    number: 'D-06',
    name: `migrations-${state}`,
    title: `migration table ${title}`,
    drive: (options, report) =>
      driveDatabase(options, report, { begin: ({ query }) => query(sql), end: () => undefined }),
  };
}

const MIGRATIONS = 'localhost.knex_migrations';
const CREATE = `create table if not exists ${MIGRATIONS} (id serial primary key, name text, batch integer, migration_time timestamptz)`;

/** Statements that end sessions, except for that of the statement itself. */
const TERMINATE = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()';

async function untilPageSays(scene: Scene, path: string, text: RegExp): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) {
    const page = await (await fetch(`http://127.0.0.1:${scene.port}${path}`)).text();
    if (text.test(page)) return true;
    await sleep(100);
  }
  return false;
}

export const databaseFaults: readonly Fault[] = [
  {
    number: 'D-01',
    name: 'down-at-start',
    title: 'database down at the start',
    async drive(options, report) {
      const openedAt = performance.now();
      await withScene({ state: 'refuse' }, async (scene) => {
        report.within(performance.now() - openedAt, LISTENS_WITHIN, 'listening');
        let readyMs = 0;
        const load = await underLoad(scene, options, async () => {
          await sleep(options.seconds * 1000);
          scene.relay.set('pass');
          const passedAt = performance.now();
          await untilReady(scene.port, 1);
          readyMs = performance.now() - passedAt;
        });
        report.figure(`ready ${(readyMs / 1000).toFixed(1)} s after it came`);
        await balance(scene, load, report);
      });
    },
  },
  behindRelay('D-02', 'refuse', 'database refuses', 'refuse'),
  behindRelay('D-02', 'reset', 'connections are reset', 'reset'),
  {
    number: 'D-02',
    name: 'crash',
    title: 'database crashes, and recovers',
    drive: (options, report) =>
      driveDatabase(options, report, {
        begin: ({ server }) => server.halt('SIGQUIT'),
        end: ({ server }) => server.resume(),
      }),
  },
  behindRelay('D-03', 'stall', 'database hangs', 'stall'),
  {
    number: 'D-03',
    name: 'frozen',
    title: 'all processes of the database stopped',
    async drive(options, report) {
      let thaw = (): void => undefined;
      await driveDatabase(options, report, {
        begin: ({ server }) => {
          thaw = freeze(server.pid());
        },
        end: () => {
          thaw();
        },
      });
    },
  },
  behindRelay('D-04', 'delay', '500 ms slower each way', { delayMs: 500 }),
  {
    number: 'D-05',
    name: 'disk-full',
    title: 'database out of disk',
    needsRoot: true,
    async drive(options, report) {
      await withSmallDisk({ mebibytes: 128 }, async (parent) => {
        let giveBack = (): void => undefined;
        await driveDatabase(options, report, {
          scene: { parent },
          begin: () => {
            giveBack = fillDisk(parent);
          },
          async end({ server }) {
            giveBack();
            // A server that could not recover has ended.
            await server.resume();
          },
        });
      });
    },
  },
  migrations('missing', 'missing', `drop table if exists ${MIGRATIONS}`),
  migrations('empty', 'empty', `${CREATE}; truncate ${MIGRATIONS}`),
  migrations('ahead', 'ahead of the folder', `${CREATE}; insert into ${MIGRATIONS} (name, batch, migration_time) values ('29990101000000_later.ts', 9, now())`), // prettier-ignore
  {
    number: 'D-06',
    name: 'migrations-locked',
    title: 'migration table locked by another session',
    async drive(options, report) {
      await withScene({}, async (scene) => {
        await scene.query(CREATE);
        let locked: Promise<unknown> = Promise.resolve();
        const load = await underLoad(scene, options, async () => {
          const sql = `begin; lock table ${MIGRATIONS} in access exclusive mode; select pg_sleep(${options.seconds}); commit`;
          locked = scene.query(sql);
          await sleep(500);
          const answer = await fetch(`http://127.0.0.1:${scene.port}/`);
          const token = answer.headers.get('x-debug-token') ?? '';
          const said = await untilPageSays(scene, `/_profiler/${token}.md?panel=migrations`, /lock/i);
          report.expect(said, 'the profile does not say that the table is locked');
          await locked;
        });
        await balance(scene, load, report);
      });
    },
  },
  {
    number: 'D-06',
    name: 'migrations-left-locked',
    title: 'migration lock left by a process that was killed',
    async drive(options, report) {
      await withScene({}, async (scene) => {
        await scene.query(
          `create table if not exists ${MIGRATIONS}_lock (index serial primary key, is_locked integer)`,
        );
        await scene.query(
          `delete from ${MIGRATIONS}_lock; insert into ${MIGRATIONS}_lock (is_locked) values (1)`,
        );
        await scene.restart();
        const load = await underLoad(scene, options, () => sleep(1000));
        await balance(scene, load, report);
      });
    },
  },
  {
    number: 'D-07',
    name: 'schema-dropped',
    title: 'schema dropped',
    async drive(options, report) {
      await withScene({}, async (scene) => {
        const before = await underLoad(scene, options, () => sleep(options.seconds * 500));
        await untilStored(scene.port);
        await scene.query('drop schema localhost cascade');
        const after = await underLoad(scene, options, () => sleep(options.seconds * 500));
        await balance(scene, after, report);
        const tokens = [...before.given, ...after.given].map(({ token }) => token);
        report.expect(new Set(tokens).size === tokens.length, 'a token was given again');
        report.figure(`${(await missingOf(scene, before, true)).length} went with the schema`);
      });
    },
  },
  {
    number: 'D-07',
    name: 'password',
    title: 'password of the database changed',
    async drive(options, report) {
      const env = { DB_USER: 'shop', DB_PASSWORD: PASSWORD };
      await withScene({ state: 'refuse', env }, async (scene) => {
        const { server, query, relay } = scene;
        await query(`create role shop login password '${PASSWORD}'`);
        await query('grant create on database postgres to shop');
        server.allow(['local all postgres trust', 'local all all scram-sha-256']);
        await query('select pg_reload_conf()');
        relay.set('pass');
        await untilReady(scene.port, 1);
        const load = await underLoad(scene, options, async () => {
          await query("alter role shop password 'another'");
          await query(`${TERMINATE} and usename = 'shop'`);
          await sleep(options.seconds * 1000);
          const pages = ['/_profiler/', '/_profiler/health', '/nowhere', '/db'].map(async (path) =>
            (await fetch(`http://127.0.0.1:${scene.port}${path}`)).text(),
          );
          const texts = [scene.service.said(), ...(await Promise.all(pages))];
          report.expect(!texts.some((text) => text.includes(PASSWORD)), 'the password is shown');
          await query(`alter role shop password '${PASSWORD}'`);
        });
        await balance(scene, load, report);
      });
    },
  },
  {
    number: 'D-08',
    name: 'crowded',
    title: 'four processes, and eight connections at most',
    async drive({ seconds, rate }, report) {
      await withScene({ settings: ['max_connections=8'], state: 'refuse' }, async (scene) => {
        scene.relay.set('pass');
        const ports = [scene.port];
        for (let count = 1; count < 4; count++) ports.push(await scene.startAnother({}, { waits: false }));
        const load = startLoad({ ports, rate });
        await sleep(seconds * 1000);
        await load.end();
        await Promise.all(ports.map((port) => untilStored(port)));
        report.load(load);
        await scene.endAll();
        report.missing(await missingOf(scene, load));
        report.figure(`p99 ${percentile(load.tookMs, 0.99)}`);
      });
    },
  },
  {
    number: 'D-09',
    name: 'terminated',
    title: 'sessions ended, ten times a second',
    async drive(options, report) {
      await withScene({}, async (scene) => {
        let ended = 0;
        const load = await underLoad(scene, options, async () => {
          const until = performance.now() + options.seconds * 1000;
          while (performance.now() < until) {
            ended += (await scene.query(`${TERMINATE} and backend_type = 'client backend'`)).length;
            await sleep(100);
          }
        });
        report.figure(`${ended} sessions ended`);
        await balance(scene, load, report);
        const [row] = await scene.query<{ count: number }>(
          'select count(*)::int from (select token from localhost.hindsight_profiles group by token having count(*) > 1) t',
        );
        report.expect(row?.count === 0, `${row?.count} profiles are stored twice`);
      });
    },
  },
];
