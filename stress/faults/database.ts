/** Faults of the database: it is away, stands still, is slow, full, changed or crowded. */
import { setTimeout as sleep } from 'node:timers/promises';
import { missingOf, untilStored } from '../service/books.ts';
import { percentile, startLoad } from '../service/load.ts';
import { fillDisk, freeze, withSmallDisk } from '../service/machine.ts';
import type { RelayState } from '../service/relay.ts';
import { untilReady } from '../service/scene.ts';
import { balance, driveDatabase, type Fault, tokensOf, underLoad, withScene } from './drive.ts';

/** Milliseconds that the service may take to listen without its database. */
const LISTENS_WITHIN = 5000;

function behindRelay(name: string, title: string, state: RelayState): Fault {
  return {
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

/** Statements that end sessions, except for that of the statement itself. */
const TERMINATE = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()';

export const databaseFaults: readonly Fault[] = [
  {
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
          await untilReady(scene.port);
          readyMs = performance.now() - passedAt;
        });
        report.figure(`ready ${(readyMs / 1000).toFixed(1)} s after it came`);
        await balance(scene, load, report);
      });
    },
  },
  behindRelay('refuse', 'database refuses', 'refuse'),
  behindRelay('reset', 'connections are reset', 'reset'),
  {
    name: 'crash',
    title: 'database crashes, and recovers',
    drive: (options, report) =>
      driveDatabase(options, report, {
        begin: ({ server }) => server.halt('SIGQUIT'),
        end: ({ server }) => server.resume(),
      }),
  },
  behindRelay('stall', 'database hangs', 'stall'),
  {
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
  behindRelay('delay', '500 ms slower each way', { delayMs: 500 }),
  {
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
  {
    name: 'schema-dropped',
    title: 'schema dropped',
    async drive(options, report) {
      await withScene({}, async (scene) => {
        const before = await underLoad(scene, options, () => sleep(options.seconds * 500));
        await untilStored(scene.port);
        await scene.query('drop schema localhost cascade');
        const after = await underLoad(scene, options, () => sleep(options.seconds * 500));
        await balance(scene, after, report);
        const tokens = [...tokensOf(before), ...tokensOf(after)];
        report.expect(new Set(tokens).size === tokens.length, 'a token was given again');
        report.figure(`${(await missingOf(scene, tokensOf(before), true)).length} went with the schema`);
      });
    },
  },
  {
    name: 'crowded',
    title: 'four processes, and eight connections at most',
    async drive({ seconds, rate }, report) {
      await withScene({ settings: ['max_connections=8'], state: 'refuse' }, async (scene) => {
        scene.relay.set('pass');
        const ports = [scene.port];
        for (let count = 1; count < 4; count++) ports.push(await scene.startAnother({ waits: false }));
        const load = startLoad({ ports, rate });
        await sleep(seconds * 1000);
        await load.end();
        await Promise.all(ports.map((port) => untilStored(port)));
        report.load(load);
        await scene.endAll();
        // What a process without a connection left in files is moved by the next one.
        await scene.startAnother();
        report.missing(await missingOf(scene, tokensOf(load)));
        report.figure(`p99 ${percentile(load.tookMs, 0.99)}`);
      });
    },
  },
  {
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
