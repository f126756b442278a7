/** PROFILER_READ_URL through the service and a host: what a page shows right after a request, and what health says of where it came from. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import express from 'express';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { Health } from '../../app/profiler/health.ts';
import { createService, readConfig, type Service } from '../../app/service.ts';
import { close, listen } from '../support/listen.ts';
import { type PostgresServer, startReplica, withOwnPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

function urlOf({ connection: { host, port, user, database } }: PostgresServer, password = ''): string {
  return `postgres://${user}${password}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

async function readsFrom(origin: string): Promise<Health['storage']['readsFrom']> {
  const { storage } = (await (await fetch(`${origin}/_profiler/health.json`)).json()) as Health;
  return storage.readsFrom;
}

async function expectShown(origin: string, path: string): Promise<void> {
  const { headers } = await fetch(`${origin}${path}`);
  const token = headers.get('x-debug-token') ?? '';
  expect((await fetch(`${origin}/_profiler/${token}`)).status).to.equal(200);
  expect(await (await fetch(`${origin}/_profiler/`)).text()).to.include(`/_profiler/${token}`);
}

describe('reads from a replica', () => {
  const primary = withOwnPostgres();
  let replica: PostgresServer;
  let folder: string;
  const lines: string[] = [];

  before(async function () {
    replica = await startReplica(this, primary());
    folder = await mkdtemp(join(tmpdir(), 'hindsight-replica-'));
  });
  after(async () => {
    await replica?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  describe('of the service', () => {
    let service: Service;

    before(async () => {
      service = createService({
        config: readConfig({
          VAR_DIR: folder,
          PORT: '0',
          DATABASE_URL: urlOf(primary()),
          PROFILER_READ_URL: urlOf(replica, ':of-the-replica-1'),
        }),
        routes: [],
        log: (line) => lines.push(line),
        writeAccess: () => undefined,
      });
      service.server.listen(0, '127.0.0.1');
      await once(service.server, 'listening');
      await service.openDatabase();
    });
    after(() => service?.close());

    it('shows each request right after it, and a token of nobody nowhere', async () => {
      const origin = service.address();
      for (let asked = 0; asked < 5; asked++) await expectShown(origin, '/missing');
      await until(async () => {
        await expectShown(origin, '/missing');
        return ((await readsFrom(origin))?.replica ?? 0) > 0;
      }, 'the replica is read');
      expect((await fetch(`${origin}/_profiler/000000`)).status).to.equal(404);
      expect(lines.filter((line) => line.includes('replica'))).to.deep.equal([]);
    });

    it('says on the health page where it reads, and nowhere with which password', async () => {
      const markdown = await (await fetch(`${service.address()}/_profiler/health.md`)).text();
      expect(markdown).to.match(
        /Profiles are read from the (replica|primary .*); so far \d+ reads from the replica, \d+ from the primary\./,
      );
      const token = (await fetch(`${service.address()}/x?value=of-the-replica-1`)).headers.get(
        'x-debug-token',
      );
      const profile = await (await fetch(`${service.address()}/_profiler/${token}.json`)).text();
      expect(profile).to.not.include('of-the-replica-1');
    });
  });

  it('are an option of a host, too', async () => {
    const warned: string[] = [];
    const profiler: Profiler = createProfiler({
      databaseUrl: urlOf(primary()),
      readUrl: urlOf(replica),
      enabled: true,
      warn: (line) => warned.push(line),
    });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/page', (_req, res) => void res.send('page'));
    const { server, origin } = await listen(app);
    try {
      await until(async () => {
        await expectShown(origin, '/page');
        return (await readsFrom(origin))?.server === 'replica';
      }, 'the replica is read');
      expect(warned).to.deep.equal([]);
    } finally {
      await close(server, profiler);
    }
  });
});
