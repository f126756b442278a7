/** A host that keeps its profiles in its own PostgreSQL: what one process recorded, the next one shows. */
import { expect } from 'chai';
import express from 'express';
import { createPostgresStorage, createProfiler, runProfilerMigrations } from '../../app/index.ts';
import { close, listen } from '../support/listen.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

describe('a host with its own PostgreSQL', () => {
  const server = withPostgres();

  /** Runs a host as one process of it would: serves what `ask` asks for, then closes. */
  async function runHost<T>(ask: (origin: string) => Promise<T>): Promise<T> {
    const knex = openKnex(server().connection);
    const schema = 'hindsight';
    await runProfilerMigrations({ knex, schema });
    const profiler = createProfiler({ storage: createPostgresStorage({ knex: () => knex, schema }) });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/hello', (_request, response) => {
      response.send('hello');
    });
    const { server: listening, port } = await listen(app);
    try {
      return await ask(`http://127.0.0.1:${port}`);
    } finally {
      await close(listening, profiler);
      await knex.destroy();
    }
  }

  it('finds a profile again after its process is gone', async () => {
    const token = await runHost(async (origin) => {
      const answer = await fetch(`${origin}/hello`);
      expect(await answer.text()).to.equal('hello');
      return answer.headers.get('x-debug-token');
    });
    const page = await runHost(async (origin) => {
      const open = (): Promise<Response> => fetch(`${origin}/_profiler/${token}`);
      let answer = await open();
      // 503: a busy machine reads nothing within three seconds.
      await until(
        async () => answer.status !== 503 || (answer = await open()).status !== 503,
        'the storage replies',
      );
      return { status: answer.status, text: await answer.text() };
    });
    expect(page.status).to.equal(200);
    expect(page.text).to.include('/hello');
  });
});
