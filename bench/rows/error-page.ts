/**
 * What the page of a 404 without a route costs: the built service with debug on, storing in PostgreSQL, against the bare application's own
 * 404. CPU of all threads at saturation, storing the two profiles of each included.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freshVarDir } from '../../test/support/postgres.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { rootFolder } from '../harness/folders.ts';
import { comparePairs } from '../harness/pairs.ts';
import { startProcess, type MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

/** Headers as a browser sends them would be masked, too; the load generator sends two. */
const PATH = '/robots-there-are-none.txt';
const MICROSECONDS = 1000;

async function startService(bench: Bench, varDir: string): Promise<MeasuredProcess> {
  const { host, port, user, database } = (await bench.database()).connection;
  const profile = bench.options.cpuProfile
    ? ['--cpu-prof', `--cpu-prof-dir=${join(rootFolder, 'bench', 'results', 'cpu')}`]
    : [];
  return startProcess({
    file: join(rootFolder, 'dist', 'app', 'server.js'),
    nodeOptions: profile,
    env: {
      APP_ENV: 'dev',
      VAR_DIR: varDir,
      DB_HOST: host,
      DB_PORT: String(port),
      DB_USER: user,
      DB_NAME: database,
    },
  });
}

export const errorPage: Row = {
  name: 'error-page',
  what: 'CPU of the page of a 404, against the bare application’s own 404',
  async run(bench): Promise<Figure[]> {
    const { pairs, sliceMs, warmUp } = bench.options;
    const varDir = freshVarDir();
    const bare = await bench.serve('bare');
    const service = await startService(bench, varDir);
    try {
      const found = await comparePairs(bare, service, { path: PATH, pairs, sliceMs, warmUp });
      const of = (value: (pair: (typeof found)[number]) => number) => spreadOf(found.map(value));
      const all = of(({ variant }) => variant.cpuAll / MICROSECONDS);
      const main = of(({ variant }) => variant.cpuMain / MICROSECONDS);
      const own = of(({ base }) => base.cpuAll / MICROSECONDS);
      return [
        {
          goal: 16,
          what: 'error page (404): CPU',
          value: all.median,
          spread: all,
          unit: 'ms',
          must: 1,
          aim: 0.6,
        },
        { goal: null, what: '  of it on the main thread', value: main.median, spread: main, unit: 'ms' },
        { goal: null, what: '  the bare application’s own 404', value: own.median, spread: own, unit: 'ms' },
      ];
    } finally {
      await service.stop();
      await bare.stop();
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    }
  },
};
