/** Hosts that never call `close()`, ended in every usual way right after their last response: nothing is lost, and they end as ever. */
import { expect } from 'chai';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { runProfilerMigrations } from '../../app/index.ts';
import { withBuild } from '../support/build.ts';
import { withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

interface Ended {
  code: number | null;
  signal: string | null;
  /** Tokens of its responses that no profile is stored of. */
  missing: string[];
  /** Those of them that it has not left for the next start, either. */
  lost: string[];
  /** What it has left. */
  left: string;
  errors: string;
}

describe('a host that ends without closing the profiler', () => {
  withBuild();
  const server = withPostgres();
  let database: pg.Client;

  before(async () => {
    await runProfilerMigrations({ connection: server().connection, schema: 'ends' });
    database = new pg.Client(server().connection);
    await database.connect();
  });
  after(() => database?.end());

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

  const newBlackBox = (): string => mkdtempSync(join(tmpdir(), 'ends-'));

  function start(ending: string, blackBox: string): ChildProcessWithoutNullStreams {
    const settings = { connection: server().connection, schema: 'ends' };
    return spawn(process.execPath, ['test/support/ending-host.mjs'], {
      env: {
        PATH: process.env.PATH,
        ENDING: ending,
        SETTINGS: JSON.stringify(settings),
        BLACK_BOX: blackBox,
      },
    });
  }

  async function ended(
    ending: string,
    end: (host: Host) => unknown,
    blackBox = newBlackBox(),
  ): Promise<Ended> {
    const child = start(ending, blackBox);
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
    await end({ kill: (signal) => child.kill(signal), ask });
    const [code, signal] = await exit;
    const stored = await storedOf(tokens);
    const missing = tokens.filter((token) => !stored.has(token));
    const left = readdirSync(blackBox)
      .map((name) => readFileSync(join(blackBox, name), 'utf8'))
      .join('');
    const lost = missing.filter((token) => !left.includes(`"token":"${token}"`));
    return { code, signal, errors, missing, lost, left };
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`loses nothing and is ended by ${signal}`, async () => {
      const end = await ended('signal', ({ kill }) => { kill(signal); }); // prettier-ignore
      expect(end).to.deep.include({ code: null, signal, errors: '', lost: [] });
    });

  it('loses nothing and exits with its code', async () => {
    expect(await ended('exit', ({ ask }) => ask('/end'))).to.deep.include({ code: 3, lost: [] });
  });

  it('loses nothing when an exception ends it', async () => {
    const { errors, left, ...rest } = await ended('throw', ({ ask }) => ask('/end'));
    expect(rest).to.deep.include({ code: 1, signal: null, lost: [] });
    expect(errors).to.include('Error: The host is broken.');
    expect(left).to.include('The host is broken.');
  });

  it('loses nothing when it handles the signal itself', async () => {
    const handled = await ended('handles', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect(handled).to.deep.include({ code: 7, signal: null, errors: '', lost: [] });
  });

  it('loses nothing of the workers of a cluster', async () => {
    const { code, lost } = await ended('cluster', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect({ code, lost }).to.deep.equal({ code: 5, lost: [] });
  });

  for (const ending of ['signal', 'cluster'])
    it(`leaves what a stalled storage does not take for its next start: ${ending}`, async () => {
      const blackBox = newBlackBox();
      await database.query('begin; lock table ends.hindsight_profiles in access exclusive mode');
      const { missing, lost } = await ended(ending, ({ kill }) => { kill('SIGTERM'); }, blackBox); // prettier-ignore
      // Or the server would store what a process that is gone had sent.
      await database.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await database.query('rollback');
      expect(missing).to.have.length(49);
      expect(lost).to.deep.equal([]);
      const next = start(ending, blackBox);
      const exit = once(next, 'exit');
      await until(async () => (await storedOf(missing)).size === 49, 'the next start stores them');
      next.kill('SIGTERM');
      await exit;
    });

  it('leaves the signal to a library that ends the process unless others listen', async () => {
    const { signal, lost } = await ended('library', ({ kill }) => { kill('SIGTERM'); }); // prettier-ignore
    expect({ signal, lost }).to.deep.equal({ signal: 'SIGTERM', lost: [] });
  });
});
