/** What nobody catches ends the process with 1, with a sentence and with every profile stored, whatever was thrown. */
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { environmentOf, freshVarDir, openKnex, withDebianPostgres } from '../support/postgres.ts';
import { ask, startService, tokenOf, type ListeningProcess } from '../support/service-process.ts';

const ROUTES = pathToFileURL('test/support/crashing-routes.mjs').href;

describe('an uncaught error', () => {
  const server = withDebianPostgres();
  const varDir = freshVarDir();
  let service: ListeningProcess | undefined;

  afterEach(() => service?.ended('SIGKILL'));
  after(() => {
    rmSync(varDir, { recursive: true, force: true });
  });

  for (const [path, says] of [
    ['/throw?kind=plain', /Uncaught: Error: the cable was pulled\n\s+at /],
    ['/throw?kind=unreadable', /Uncaught: unreadable/],
    ['/reject?kind=unreadable', /Unhandled rejection: /],
    ['/throw?kind=revoked', /Uncaught: "\[Object\]"/],
    // Node.js itself fails to look at it, outside of the request.
    ['/reject?kind=revoked', /Uncaught: TypeError: .* revoked/],
    ['/throw?kind=symbol', /Uncaught: Symbol\(odd\)/],
    ['/throw?kind=null', /Uncaught: null/],
  ] as const)
    it(`of ${path} ends with 1 and loses nothing`, async () => {
      service = await startService({
        ...environmentOf(server().connection),
        VAR_DIR: varDir,
        NODE_OPTIONS: `--import ${ROUTES}`,
      });
      const { origin, ended, said } = service;
      const before = await Promise.all([1, 2, 3].map((at) => ask(`${origin}/before/${at}`)));
      const gone = ask(`${origin}${path}`).then(
        () => null,
        () => null,
      );
      expect(await ended(), said()).to.equal(1);
      await gone;
      expect(said()).to.match(says);
      const knex = openKnex(server().connection);
      const rows = await knex
        .from('localhost.hindsight_profiles')
        .whereIn('token', before.map(tokenOf))
        .orWhere('url', path)
        .select<{ url: string; error: string | null }[]>('url', 'error');
      await knex.destroy();
      expect(rows.filter(({ url }) => url.startsWith('/before/'))).to.have.length(3);
      const thrower = rows.find(({ url }) => url === path);
      expect(thrower, said()).to.not.equal(undefined);
      if (path !== '/reject?kind=revoked') expect(thrower?.error).to.be.a('string');
    });
});
