/** SIGTERM again and again while requests go on: whoever got an answer finds its profile. */
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withPostgres, freshVarDir, openKnex } from '../support/postgres.ts';
import { ask, startService, tokenOf, type ListeningProcess } from '../support/service-process.ts';
import { until } from '../support/waiting.ts';

/** Milliseconds that each life lasts: the first is shorter than it takes to reach the database. */
const LIVES = [200, 900];
const CLIENTS = 4;

/** Below the ports that systems give out for 0: while the service restarts, no other process takes it. */
async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return String(port);
  }
}

describe('restarts under load', () => {
  const server = withPostgres();
  const varDir = freshVarDir();
  let service: ListeningProcess | undefined;

  after(async () => {
    await service?.ended('SIGTERM');
    rmSync(varDir, { recursive: true, force: true });
  });

  it('lose no profile and repeat no token', async () => {
    const { host, database, user } = server().connection;
    const env = { PORT: await freePort(), VAR_DIR: varDir, DB_HOST: host, DB_NAME: database, DB_USER: user };
    const tokens: string[] = [];
    let over = false;
    service = await startService(env);
    const { origin } = service;

    async function keepAsking(): Promise<void> {
      while (!over) {
        const token = await ask(`${origin}/restart`).then(tokenOf, () => null);
        if (token !== null) tokens.push(token);
        await sleep(20);
      }
    }

    const clients = Array.from({ length: CLIENTS }, keepAsking);
    for (const ms of LIVES) {
      await sleep(ms);
      expect(await service.ended('SIGTERM'), service.said()).to.equal(0);
      expect(service.said()).to.not.match(/lost|not stored/);
      service = await startService(env);
    }
    over = true;
    await Promise.all(clients);

    expect(tokens.length).to.be.greaterThan(LIVES.length);
    expect(new Set(tokens).size).to.equal(tokens.length);
    const last = tokens.at(-1) ?? '';
    const opens = async (): Promise<boolean> =>
      (await ask(`${origin}/_profiler/${last}.json`)).status === 200;
    await until(opens, 'the last one opens');
    expect(await service.ended('SIGTERM'), service.said()).to.equal(0);
    const knex = openKnex(server().connection);
    const stored = new Set(await knex.from('localhost.hindsight_profiles').pluck<string[]>('token'));
    await knex.destroy();
    expect(tokens.filter((token) => !stored.has(token))).to.deep.equal([]);
  });
});
