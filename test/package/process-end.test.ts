/** Hosts that never call `close()`, ended in every usual way right after their last response: nothing is lost, and they end as ever. */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { runProfilerMigrations } from '../../app/index.ts';
import { withBuild } from '../support/build.ts';
import { withDebianPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

/** What a host gets at its end to store what is left (create-core.ts). */
const STORE_AT_EXIT_MS = 2000;

interface Ended {
  code: number | null;
  signal: string | null;
  /** Tokens of its responses that no profile is stored of. */
  missing: string[];
  errors: string;
}

describe('a host that ends without closing the profiler', () => {
  withBuild();
  const server = withDebianPostgres();
  let database: pg.Client;

  before(async () => {
    await runProfilerMigrations({ connection: server().connection, schema: 'ends' });
    database = new pg.Client(server().connection);
    await database.connect();
  });
  after(() => database.end());

  async function storedOf(tokens: readonly string[]): Promise<Set<string>> {
    const { rows } = await database.query<{ token: string }>(
      'select token from ends.hindsight_profiles where token = any($1)',
      [tokens],
    );
    return new Set(rows.map(({ token }) => token));
  }

  interface Host {
    kill: (signal: NodeJS.Signals) => void;
    ask: (path: string) => Promise<Response>;
  }

  /** As it ends on a machine that is fast enough: one that is not gives up on the storage. */
  async function ended(ending: string, end: (host: Host) => unknown): Promise<Ended> {
    let last: { ended: Ended; ms: number } | undefined;
    await until(async () => {
      last = await endedOnce(ending, end);
      return last.ended.missing.length === 0 || last.ms < STORE_AT_EXIT_MS;
    }, 'a host ends in time');
    return last!.ended;
  }

  async function endedOnce(
    ending: string,
    end: (host: Host) => unknown,
  ): Promise<{ ended: Ended; ms: number }> {
    const settings = { connection: server().connection, schema: 'ends' };
    const child = spawn(process.execPath, ['test/support/ending-host.mjs'], {
      env: { PATH: process.env.PATH, ENDING: ending, SETTINGS: JSON.stringify(settings) },
    });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    const lines = createInterface(child.stdout);
    const [port] = (await Promise.race([
      once(lines, 'line'),
      once(child, 'exit').then(() => Promise.reject(new Error(errors))),
    ])) as [string];
    const tokens: string[] = [];
    const ask = async (path: string): Promise<Response> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      tokens.push(response.headers.get('x-debug-token') ?? '');
      return response;
    };
    const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
    await Promise.all(Array.from({ length: 49 }, async (_, index) => (await ask(`/${index}`)).text()));
    const endsAt = performance.now();
    await end({ kill: (signal) => child.kill(signal), ask });
    const [code, signal] = await exit;
    const ms = performance.now() - endsAt;
    const stored = await storedOf(tokens);
    return { ended: { code, signal, errors, missing: tokens.filter((token) => !stored.has(token)) }, ms };
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`stores everything and is ended by ${signal}`, async () => {
      expect(await ended('signal', ({ kill }) => { kill(signal); })).to.deep.equal({ code: null, signal, errors: '', missing: [] }); // prettier-ignore
    });

  it('stores everything and exits with its code', async () => {
    expect(await ended('exit', ({ ask }) => ask('/end'))).to.deep.include({ code: 3, missing: [] });
  });

  it('stores everything when an exception ends it', async () => {
    const { errors, ...rest } = await ended('throw', ({ ask }) => ask('/end'));
    expect(rest).to.deep.equal({ code: 1, signal: null, missing: [] });
    expect(errors).to.include('Error: The host is broken.');
    const { rows } = await database.query<{ error: string }>(
      "select error from ends.hindsight_profiles where url = '/end' and error is not null",
    );
    expect(rows).to.not.be.empty;
  });

  it('stores everything when it handles the signal itself', async () => {
    const handled = await ended('handles', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect(handled).to.deep.equal({ code: 7, signal: null, errors: '', missing: [] });
  });

  it('stores everything of the workers of a cluster', async () => {
    const { code, missing } = await ended('cluster', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect({ code, missing }).to.deep.equal({ code: 5, missing: [] });
  });

  it('leaves the signal to a library that ends the process unless others listen', async () => {
    const { signal, missing } = await ended('library', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect({ signal, missing }).to.deep.equal({ signal: 'SIGTERM', missing: [] });
  });
});
