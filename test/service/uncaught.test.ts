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
  const varDir = freshVarDir();
  let service: ListeningProcess | undefined;

  afterEach(() => service?.ended('SIGKILL'));
  after(() => {
    rmSync(varDir, { recursive: true, force: true });
  });

  // How other values are told: test/observe/errors.test.ts.
  const throwing: readonly (readonly [path: string, says: RegExp])[] = [
    ['/throw?kind=plain', /Uncaught: Error: the cable was pulled\n\s+at /],
    // Node.js itself fails to look at it, outside of the request.
    ['/reject?kind=revoked', /Uncaught: TypeError: .* revoked/],
  ];
  const tokens: string[] = [];

  for (const [path, says] of throwing)
    it(`of ${path} ends with 1`, async () => {
      service = await startService({
        ...environmentOf(server().connection),
        VAR_DIR: varDir,
        NODE_OPTIONS: `--import ${ROUTES}`,
      });
      const { origin, ended, said } = service;
      const before = await Promise.all([1, 2, 3].map((at) => ask(`${origin}/before/${at}`)));
      tokens.push(...before.map(tokenOf));
      await Promise.all([ended(), ask(`${origin}${path}`).catch(() => null)]);
      expect(await ended(), said()).to.equal(1);
      expect(said()).to.match(says);
    });

  it('loses nothing: what the database has not got is stored by the next start', async () => {
    service = await startService({ ...environmentOf(server().connection), VAR_DIR: varDir });
    const knex = openKnex(server().connection);
    const paths = throwing.map(([path]) => path);
    let rows: { url: string; error: string | null }[] = [];
    await until(async () => {
      if (!(await knex.schema.withSchema('localhost').hasTable('hindsight_profiles'))) return false;
      rows = await knex
        .from('localhost.hindsight_profiles')
        .whereIn('token', tokens)
        .orWhereIn('url', paths)
        .select<typeof rows>('url', 'error');
      return rows.length === tokens.length + paths.length;
    }, `the rest is stored: ${service.said()}`);
    await knex.destroy();
    for (const { url, error } of rows)
      if (paths.includes(url) && url !== '/reject?kind=revoked') expect(error, url).to.be.a('string');
  });

  it('and SIGKILL lose nothing while the database is away: the next start stores it', async () => {
    const folder = freshVarDir();
    const env = { ...environmentOf(server().connection), VAR_DIR: folder };
    const away = { ...env, DB_USER: 'nobody_there', NODE_OPTIONS: `--import ${ROUTES}` };
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
    expect(await service.ended()).to.equal(1);
    expect(files()).to.include(crashed);

    // Or the next one would wait until it is sure that nobody writes them any more.
    for (const file of segments()) utimesSync(file, 0, 0);
    service = await startService(env);
    const { origin } = service;
    for (const token of [killed, crashed])
      await until(async () => (await ask(`${origin}/_profiler/${token}.json`)).status === 200, 'it opens');
    const found = await ask(`${origin}/_profiler/search.json?mark=process+ended`);
    expect(found.body).to.include('/throw?kind=plain');
    await until(() => !files().includes(killed) && !files().includes(crashed), 'the files are removed');
    expect(await service.ended('SIGTERM'), service.said()).to.equal(0);
    rmSync(folder, { recursive: true });
  });
});
