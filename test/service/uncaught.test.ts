/** What nobody catches ends the process with 1, with a sentence and with every profile stored, whatever was thrown. */
import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { environmentOf, freshVarDir, openKnex, withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { ask, startService, tokenOf, type ListeningProcess } from '../support/service-process.ts';

const ROUTES = pathToFileURL('test/support/crashing-routes.mjs').href;

describe('an uncaught error', () => {
  const server = withPostgres();
  const folder = freshVarDir();
  const NODE_OPTIONS = `--import ${ROUTES}`;
  let env: Record<string, string>;
  let service: ListeningProcess | undefined;

  before(() => {
    env = { ...environmentOf(server().connection), VAR_DIR: folder };
  });
  after(async () => {
    await service?.ended('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends with 1 and loses nothing, nor does SIGKILL, if the database is away: the next start stores it', async () => {
    const away = { ...env, DB_USER: 'nobody_there', NODE_OPTIONS };
    const segments = (): string[] =>
      readdirSync(join(folder, 'profiles'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.rows'))
        .map((name) => join(folder, 'profiles', name));
    const files = (): string =>
      segments()
        .map((name) => readFileSync(name, 'utf8'))
        .join('');

    service = await startService(away);
    const killed = await ask(`${service.origin}/killed`).then(tokenOf);
    await until(() => existsSync(join(folder, 'profiles')) && files().includes(killed), 'the files have it');
    await service.ended('SIGKILL');
    service = await startService(away);
    const crashed = await ask(`${service.origin}/crashed`).then(tokenOf);
    ask(`${service.origin}/throw?kind=plain`).catch(() => undefined);
    expect(await service.ended(), service.said()).to.equal(1);
    expect(service.said()).to.match(/Uncaught: Error: the cable was pulled\n\s+at /);
    expect(files()).to.include(crashed);

    // Or the next one would wait until it is sure that nobody writes them any more.
    for (const file of segments()) utimesSync(file, 0, 0);
    service = await startService({ ...env, NODE_OPTIONS });
    const { origin } = service;
    for (const token of [killed, crashed])
      await until(async () => (await ask(`${origin}/_profiler/${token}.json`)).status === 200, 'it opens');
    const found = await ask(`${origin}/_profiler/search.json?mark=process+ended`);
    expect(found.body).to.include('/throw?kind=plain');
    await until(() => !files().includes(killed) && !files().includes(crashed), 'the files are removed');
  });

  // Other values: test/observe/errors.test.ts. Node.js itself fails to look at this one, outside of the request.
  it('of a value that can’t be read ends with 1, too, and everything is in the database or the next start stores it', async () => {
    const { origin, ended, said } = service!;
    const paths = ['/before/1', '/before/2', '/reject?kind=revoked'];
    for (const path of paths.slice(0, 2)) await ask(origin + path);
    await Promise.all([ended(), ask(origin + paths[2]!).catch(() => null)]);
    expect(await ended(), said()).to.equal(1);
    expect(said()).to.match(/Uncaught: TypeError: .* revoked/);

    service = await startService(env);
    const knex = openKnex(server().connection);
    await until(async () => {
      const rows = await knex
        .from('localhost.hindsight_profiles')
        .whereIn('url', paths)
        .select<{ url: string }[]>('url');
      return paths.every((path) => rows.some(({ url }) => url === path));
    }, `the rest is stored: ${service.said()}`);
    await knex.destroy();
    expect(await service.ended('SIGTERM'), service.said()).to.equal(0);
  });
});
