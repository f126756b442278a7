/** All observers in one real Express host, fifty requests at once over a pool of four: every fact lands in its own request. */
import { writeFile } from 'node:fs/promises';
import { get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import ejs from 'ejs';
import express from 'express';
import type { Knex } from 'knex';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { observeConsole } from '../../app/observe/logs/console.ts';
import { createDump } from '../../app/observe/logs/dump.ts';
import { observeViews } from '../../app/observe/views.ts';
import { observeHttpClient } from '../../app/observe/http-client/http-client.ts';
import { observeKnex } from '../../app/observe/databases/knex.ts';
import { createQueryRecorder } from '../../app/observe/databases/queries.ts';
import { observeRuntime } from '../../app/observe/runtime.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { close, listen } from '../support/listen.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const REQUESTS = 50;

function getByHttp(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      response.resume().once('end', resolve);
    }).once('error', reject);
  });
}

describe('facts of fifty concurrent requests', () => {
  const database = withPostgres();
  const tracker = new ContextTracker();
  const contexts = new Map<string, Context>();
  const closing: { close(): void }[] = [];
  let knex: Knex;
  let folder: string;
  let server: Server;

  before(async () => {
    const findCaller = createCallerFinder();
    // Lines of the requests below stay out of the report.
    const quiet = Object.assign(Object.create(console) as Console, { log: () => undefined });
    const dump = createDump({ tracker, findCaller });
    const views = observeViews({ tracker, findCaller, root: process.cwd() });
    const runtime = observeRuntime({ tracker, findCaller });
    knex = openKnex(database().connection, { pool: { min: 0, max: 4 } });
    closing.push(
      observeKnex(knex, { tracker, queries: createQueryRecorder({ tracker, findCaller }), findCaller }),
      observeConsole({ tracker, findCaller, console: quiet }),
      observeHttpClient({ tracker, findCaller }),
      views,
      runtime,
    );
    folder = freshFolder();
    await writeFile(join(folder, 'page.ejs'), `<%= id %> <%- include('part', { id }) %>`);
    await writeFile(join(folder, 'part.ejs'), '<%= id %>');

    const app = express();
    app.set('views', [folder]).set('view engine', 'ejs');
    app.engine('ejs', (...args) => void ejs.renderFile(...(args as Parameters<typeof ejs.renderFile>)));
    views.watchApp(app);
    views.watchEngine(ejs);
    app.get('/echo/:id', (_req, res) => void setTimeout(() => res.end('done'), Math.random() * 10));
    app.use('/page/:id', (req, _res, next) => {
      const context = new Context({ token: req.params.id, kind: 'request' });
      contexts.set(req.params.id, context);
      runtime.onRequest(context);
      tracker.run(context, next);
    });
    app.get('/page/:id', async (req, res) => {
      const { id } = req.params;
      const echo = `http://127.0.0.1:${(server.address() as AddressInfo).port}/echo/${id}`;
      quiet.log('begin', id);
      await knex.raw('select ?::text, pg_sleep(random() / 100)', [id]);
      const [, answer] = await Promise.all([
        knex.transaction(async (trx) => {
          await trx.raw('select ?::text', [id]);
          quiet.log('inside', id);
        }),
        fetch(echo),
      ]);
      await answer.text();
      await getByHttp(echo);
      await new Promise((resolve) => void knex.raw('select ?::text', [id]).asCallback(resolve));
      dump(id);
      await sleep(Math.random() * 5);
      quiet.log('end', id);
      res.render('page', { id });
    });
    ({ server } = await listen(app));
  });
  after(async () => {
    for (const observation of closing.toReversed()) observation.close();
    if (server !== undefined) await close(server);
    await knex?.destroy();
  });

  it('land in the request that made them, all of them, in order', async () => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
    const ids = Array.from({ length: REQUESTS }, (_, index) => `r${index}`);
    const texts = await Promise.all(ids.map(async (id) => (await fetch(`${base}/${id}`)).text()));
    expect(texts).to.deep.equal(ids.map((id) => `${id} ${id}`));
    for (const id of ids) {
      const context = contexts.get(id);
      const values = context?.all('query').flatMap(({ bindings }) => bindings);
      expect(values, id).to.deep.equal([id, id, id]);
      const statements = context?.all('query').map(({ sql }) => sql.split(' ')[0]);
      expect(statements).to.deep.equal(['select', 'BEGIN;', 'select', 'COMMIT;', 'select']);
      expect(context?.all('log').map(({ message }) => message)).to.deep.equal([
        `begin ${id}`,
        `inside ${id}`,
        `end ${id}`,
      ]);
      expect(
        context?.all('call').map(({ url, client }) => `${client} ${url.replace(/^.*\//, '')}`),
      ).to.deep.equal([`fetch ${id}`, `http ${id}`]);
      expect(context?.all('view').map(({ name, depth }) => `${name} ${depth}`)).to.deep.equal([
        'page 0',
        'part.ejs 1',
      ]);
      expect(context?.all('dump').map(({ value }) => value)).to.deep.equal([id]);
      expect(context?.first('runtime')?.read().concurrent).to.be.greaterThan(1);
    }
  });
});
