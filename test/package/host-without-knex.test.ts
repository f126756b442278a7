/** A host that has no Knex and says where to connect. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createPostgresStorage, runProfilerMigrations } from '../../app/index.ts';
import { withBuild } from '../support/build.ts';
import { withPostgres } from '../support/postgres.ts';
import { eventually, WITHIN_MS } from '../support/waiting.ts';

const host = `
import { once } from 'node:events';
import { createRequire } from 'node:module';
import express from 'express';
import { createPostgresStorage, createProfiler } from './dist/app/index.js';

const settings = JSON.parse(process.env.SETTINGS);
const profiler = createProfiler({ storage: createPostgresStorage(settings) });
const app = express();
app.use(profiler.watch, profiler.pages);
app.get('/hello', (_request, response) => void response.send('hello'));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = 'http://127.0.0.1:' + server.address().port;
const { cache } = createRequire(import.meta.url);
const loaded = () => Object.keys(cache).filter((file) => /node_modules\\/knex\\//.test(file)).length > 0;

const answer = await fetch(origin + '/hello');
await answer.text();
await profiler.profiles.amend(answer.headers.get('x-debug-token'), 'note', 'seen');
while (profiler.counters().stored === 0) await new Promise((resolve) => setTimeout(resolve, 20));
const page = await fetch(origin + '/_profiler/' + answer.headers.get('x-debug-token'));
const text = await page.text();
const found = await profiler.profiles.read(answer.headers.get('x-debug-token'));
server.close();
server.closeAllConnections();
const { dropped } = await profiler.close();
console.log(JSON.stringify({
  loaded: loaded(), status: page.status, shown: text.includes('/hello'), dropped,
  source: found.source, amendments: found.amendments,
}));
`;

describe('a host without Knex', () => {
  withBuild();
  const server = withPostgres();

  before(() => runProfilerMigrations({ connection: server().connection, schema: 'alone' }));

  async function runHost(): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, ['--eval', host], {
      env: {
        PATH: process.env.PATH ?? '',
        SETTINGS: JSON.stringify({ connection: server().connection, schema: 'alone' }),
      },
    });
    return stdout;
  }

  it('reads pages side by side where each question about the place has another answer', async () => {
    let asked = 0;
    const storage = createPostgresStorage({
      connection: () => ({ ...server().connection, application_name: `answer ${asked++}` }),
      schema: 'alone',
      replyTimeoutMs: WITHIN_MS,
    });
    const tokens = ['000001', '000002', '000003', '000004'];
    for (let round = 0; round < 5; round++)
      await Promise.all([
        ...tokens.map((token) => storage.read(token)),
        storage.find({ limit: 1, offset: 0 }),
        storage.setting('paused'),
      ]);
    await storage.close();
    expect(asked).to.be.within(1, 2);
  });

  it('is asked for its place again when nobody is let in there', async () => {
    const { connection } = server();
    const places = [{ ...connection, port: 1 }, connection];
    const storage = createPostgresStorage({
      connection: () => places.shift() ?? connection,
      schema: 'alone',
    });
    const refused: unknown = await storage.read('000001').catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error);
    expect(await eventually(() => storage.read('000001'), 'a read')).to.equal(null);
    await storage.close();
  });

  it('opens nothing after its storage has closed', async () => {
    for (const used of [true, false]) {
      let asked = 0;
      const storage = createPostgresStorage({
        connection: () => {
          asked++;
          return server().connection;
        },
        schema: 'alone',
      });
      if (used) await eventually(() => storage.read('000001'), 'a read');
      await storage.close();
      const before = asked;
      for (const work of [() => storage.read('000001'), () => storage.setting('paused')]) {
        const refused: unknown = await work().catch((error: unknown) => error);
        expect((refused as Error).message).to.match(/the storage is closed/);
      }
      expect(asked).to.equal(before);
    }
  });

  it('stores and shows its profiles without Knex', async () => {
    const told = JSON.parse(await runHost()) as Record<string, unknown>;
    expect(told).to.deep.include({
      loaded: false,
      status: 200,
      shown: true,
      source: 'stored',
      dropped: {},
      amendments: { note: 'seen' },
    });
  });
});
