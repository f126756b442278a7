/** A store that is full, and a service that runs for long. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostileCases } from '../../test/support/hostile-cases.ts';
import { talk } from '../../test/support/hostile-talk.ts';
import { openKnex } from '../../test/support/postgres.ts';
import { builtDoor } from '../../bench/harness/built-door.ts';
import { memoryOf } from '../../bench/harness/cpu.ts';
import { batches, storeAll } from '../../bench/harness/sample-profiles.ts';
import { balance, type Fault, underLoad, withScene } from './drive.ts';
import { missingOf, untilStored } from './books.ts';
import { percentile } from './load.ts';
import { settle } from './limits.ts';
import { descriptorsOf } from './machine.ts';

const MEBIBYTE = 1024 * 1024;
const BATCH = 250;
const LOOK_UPS = 500;
const LOOK_UP_WITHIN = 20;
/** A shorter run says nothing about leaks. */
const LONG_MS = 600_000;
const HOSTILE_EVERY = 60_000;
const SAMPLED_EVERY = 1000;
/** Seconds after which connections that were left are gone. */
const CLOSED_WITHIN = 10;

/** Growth of values taken at moments, per millisecond: the line of least squares. */
function slopeOf(samples: readonly (readonly [at: number, value: number])[]): number {
  const mean = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0) / of.length;
  const [at, value] = [mean(samples.map(([x]) => x)), mean(samples.map(([, y]) => y))];
  const covariance = samples.reduce((sum, [x, y]) => sum + (x - at) * (y - value), 0);
  return covariance / samples.reduce((sum, [x]) => sum + (x - at) ** 2, 0);
}

export const longFaults: readonly Fault[] = [
  {
    number: 'D-26',
    name: 'full-store',
    title: 'many profiles stored',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const knex = openKnex(scene.server.connection);
        const { createPostgresStorage } = await builtDoor();
        const storage = createPostgresStorage({
          knex: () => knex,
          schema: 'localhost',
        });
        const tokens: string[] = [];
        for (const batch of batches(0, options.stored, options.stored, BATCH)) {
          await storeAll(storage, batch);
          tokens.push(...batch.map(({ row }) => row.token));
        }
        const tookMs: number[] = [];
        const load = await underLoad(scene, options, async () => {
          for (let count = 0; count < LOOK_UPS; count++) {
            const startedAt = performance.now();
            await storage.read(tokens[Math.floor(Math.random() * tokens.length)] ?? '');
            tookMs.push(performance.now() - startedAt);
          }
        });
        report.figure(`${options.stored} profiles, look-up p99 ${percentile(tookMs, 0.99)}`);
        report.within(Number.parseFloat(percentile(tookMs, 0.99)), LOOK_UP_WITHIN, 'p99 of look-ups');
        await storage.close?.();
        await knex.destroy();
        await untilStored(scene.port);
        report.load(load);
        // The samples have tokens that the service may give out, too.
        const taken = new Set(tokens);
        report.missing((await missingOf(scene, load)).filter((token) => !taken.has(token)));
      }),
  },
  {
    number: 'D-27',
    name: 'soak',
    title: 'load and hostile requests for long',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { port, service } = scene;
        const samples: [at: number, value: number][] = [];
        const forMs = options.seconds * 1000;
        const descriptors = descriptorsOf(service.pid);
        const load = await underLoad(scene, options, async () => {
          const startedAt = performance.now();
          let hostileAt = -Infinity;
          for (let now = startedAt; now < startedAt + forMs; now = performance.now()) {
            if (now - hostileAt > HOSTILE_EVERY) {
              hostileAt = now;
              for (const one of hostileCases) await talk(() => connect(port, '127.0.0.1'), one);
            }
            if (now > startedAt + forMs / 3) samples.push([now, memoryOf(service.pid)]);
            await sleep(SAMPLED_EVERY);
          }
        });
        await balance(scene, load, report);
        report.figure(`RSS ${Math.round(memoryOf(service.pid) / MEBIBYTE)} MiB`);
        if (forMs >= LONG_MS) {
          const growth = (slopeOf(samples) * LONG_MS) / MEBIBYTE;
          report.figure(`${growth.toFixed(1)} MiB more in 10 min`);
          report.expect(growth < 1, `RSS grows by ${growth.toFixed(1)} MiB in 10 min`);
        }
        const left = await settle(
          () => descriptorsOf(service.pid),
          (count) => count < descriptors + 10,
          CLOSED_WITHIN,
        );
        report.figure(`descriptors ${descriptors} → ${left}`);
        report.expect(left < descriptors + 10, 'descriptors grow');
      }),
  },
];
