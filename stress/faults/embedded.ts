/** The embedded PostgreSQL in a folder that can't be used, and two services on one. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterVarDir, freshVarDir } from '../../test/support/postgres.ts';
import { freePort } from '../../bench/harness/process.ts';
import { startService, untilReady } from '../ledger/service.ts';
import { uncounted, readHealth } from './books.ts';
import type { DriveOptions, Fault } from './drive.ts';
import { startLoad } from './load.ts';
import { makeReadOnly, withSmallDisk } from './machine.ts';
import type { Report } from './outcome.ts';

/** Milliseconds that an end by SIGTERM may take. */
const ENDS_WITHIN = 5000;

/** Milliseconds with a server that refuses each session (PROFILER_DRAIN_MS and a little). */
const REFUSED_ENDS_WITHIN = 26_000;
/** Milliseconds in which a folder is found unusable. */
const FOUND_WITHIN = 60_000;

const REFUSAL_SAID_WITHIN = 90_000;
const SAYS_WHY = /can't be (?:used|stored)|MEMORY ONLY/;

const DAMAGES: Record<string, (data: string) => void> = {
  'another major version': (data) => writeFileSync(join(data, 'PG_VERSION'), '17\n'),
  'an empty PG_VERSION': (data) => writeFileSync(join(data, 'PG_VERSION'), ''),
  'no PG_VERSION': (data) => rmSync(join(data, 'PG_VERSION')),
  'a short pg_control': (data) => truncateSync(join(data, 'global', 'pg_control'), 100),
  'no write-ahead log': (data) => rmSync(join(data, 'pg_wal'), { recursive: true }),
};

/** Names and contents of all files, but for what a server that tried to start writes anew. */
function contentsOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(folder, name);
    if (/postmaster|server\.log|pg_control|pg_stat|pg_internal|logfile/.test(name)) continue;
    if (statSync(path).isFile()) hash.update(name).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** Starts a service that can't store, and expects that it serves, says why, changes nothing and ends well. */
async function serveWithout(
  name: string,
  varDir: string,
  { rate }: DriveOptions,
  report: Report,
): Promise<void> {
  const port = await freePort();
  const service = await startService(port, { VAR_DIR: varDir });
  const load = startLoad({ ports: [port], rate });
  const until = performance.now() + FOUND_WITHIN;
  while (!service.said().includes('MEMORY ONLY') && performance.now() < until && !service.isOver())
    await sleep(50);
  await sleep(500);
  await load.end();
  report.expect(
    service.said().includes('MEMORY ONLY'),
    `${name}: it does not say that profiles are in memory only`,
  );
  report.load(load);
  const opens = await fetch(`http://127.0.0.1:${port}/_profiler/${load.given.at(-1)?.token}`);
  await opens.text();
  report.expect(opens.status === 200, `${name}: the profile has the status ${opens.status}`);
  const asked = await fetch(`http://127.0.0.1:${port}/db`);
  await asked.text();
  report.expect(asked.status === 503, `${name}: db() answers ${asked.status}`);
  report.expect(uncounted((await readHealth(port)).application) === 0, `${name}: the ledger does not add up`);
  const { code, ms } = await service.end();
  report.expect(code === 0, `${name}: exit code ${code}`);
  report.within(ms, ENDS_WITHIN, `${name}: the end`);
}

export const embeddedFaults: readonly Fault[] = [
  {
    number: 'D-29',
    name: 'damaged',
    title: `embedded database with ${Object.keys(DAMAGES).join(', ')}`,
    async drive(options, report) {
      for (const [name, damage] of Object.entries(DAMAGES)) {
        const varDir = await clusterVarDir();
        const data = join(varDir, 'postgres', 'data');
        damage(data);
        const before = contentsOf(data);
        await serveWithout(name, varDir, options, report);
        report.expect(contentsOf(data) === before, `${name}: a file was changed`);
        rmSync(varDir, { recursive: true, force: true });
      }
    },
  },
  {
    number: 'D-29',
    name: 'catalogue',
    title: 'embedded database that starts and refuses each session',
    async drive({ seconds, rate }, report) {
      const varDir = await clusterVarDir();
      const global = join(varDir, 'postgres', 'data', 'global');
      for (const name of readdirSync(global))
        if (/^\d+$/.test(name)) writeFileSync(join(global, name), 'x'.repeat(8192));
      const port = await freePort();
      const service = await startService(port, { VAR_DIR: varDir });
      const load = startLoad({ ports: [port], rate });
      const until = performance.now() + REFUSAL_SAID_WITHIN;
      while (!SAYS_WHY.test(service.said()) && performance.now() < until) await sleep(100);
      await sleep(seconds * 1000);
      await load.end();
      report.load(load);
      report.expect(uncounted((await readHealth(port)).application) === 0, 'the ledger does not add up');
      const { code, ms } = await service.end();
      const said = service.said();
      report.expect(SAYS_WHY.test(said), `it says only: ${said}`);
      report.expect(code === 0, `exit code ${code}`);
      report.within(ms, REFUSED_ENDS_WITHIN, 'the end');
      report.figure(/Profiles (?:left|lost)[^\n]*/.exec(said)?.[0] ?? 'nothing left');
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    },
  },
  {
    number: 'D-29',
    name: 'unwritable',
    title: 'VAR_DIR full, read-only, a file',
    needsRoot: true,
    async drive(options, report) {
      await withSmallDisk({ mebibytes: 20 }, (folder) => serveWithout('full', folder, options, report));
      await withSmallDisk({ mebibytes: 256 }, async (folder) => {
        const whole = await clusterVarDir();
        cpSync(whole, folder, { recursive: true });
        rmSync(whole, { recursive: true, force: true });
        const giveBack = makeReadOnly(folder);
        await serveWithout('read-only', folder, options, report);
        giveBack();
      });
      const parent = freshVarDir();
      writeFileSync(join(parent, 'file'), 'mine');
      await serveWithout('a file', join(parent, 'file'), options, report);
      report.expect(readFileSync(join(parent, 'file'), 'utf8') === 'mine', 'the file was changed');
      rmSync(parent, { recursive: true });
    },
  },
  {
    number: 'D-29',
    name: 'joined',
    title: 'two services on one folder, the one that started the database killed',
    async drive({ seconds, rate }, report) {
      const varDir = await clusterVarDir();
      mkdirSync(varDir, { recursive: true });
      const ports = [await freePort(), await freePort()] as const;
      const first = await startService(ports[0], { VAR_DIR: varDir });
      await untilReady(ports[0], 1);
      const second = await startService(ports[1], { VAR_DIR: varDir });
      await untilReady(ports[1], 1);
      const load = startLoad({ ports, rate });
      await sleep(seconds * 500);
      await load.end();
      await sleep(1000);
      await first.kill();
      const after = startLoad({ ports: [ports[1]], rate });
      await sleep(seconds * 500);
      await after.end();
      report.load(load);
      report.load(after);
      await sleep(1000);
      const closed: string[] = [];
      for (const { token } of [...load.given, ...after.given]) {
        const response = await fetch(`http://127.0.0.1:${ports[1]}/_profiler/${token}.json`);
        await response.text();
        if (response.status !== 200) closed.push(token);
      }
      report.missing(closed);
      const { code } = await second.end();
      report.expect(code === 0, `exit code ${code}`);
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    },
  },
];
