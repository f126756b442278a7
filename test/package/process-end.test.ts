/** Hosts that never call `close()`, ended in every usual way right after their last response: what they recorded is there, and they end as ever. */
import { expect } from 'chai';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { runProfilerMigrations } from '../../app/index.ts';
import type { ProfileIndex } from '../../app/profiler/store/profile-index.ts';
import { withBuild } from '../support/build.ts';
import { createStoreIn } from '../support/memory-store.ts';
import { withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

interface Host {
  child: ChildProcessWithoutNullStreams;
  origin: string;
  said: () => string;
}

interface Ended {
  code: number | null;
  signal: string | null;
  /** Of its responses. */
  tokens: string[];
  errors: string;
}

async function startHost(env: Record<string, string>): Promise<Host> {
  const child = spawn(process.execPath, ['test/support/ending-host.mjs'], {
    env: { PATH: process.env.PATH, ...env },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const [port] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error(errors))),
  ])) as [string];
  return { child, origin: `http://127.0.0.1:${port}`, said: () => errors };
}

/** Asks 19 times and ends it. */
async function endHost(
  env: Record<string, string>,
  end: (host: Host, ask: (path: string) => Promise<Response>, tokens: readonly string[]) => unknown,
): Promise<Ended> {
  const host = await startHost(env);
  const tokens: string[] = [];
  const ask = async (path: string): Promise<Response> => {
    const response = await fetch(`${host.origin}${path}`);
    tokens.push(response.headers.get('x-debug-token') ?? '');
    return response;
  };
  const exit = once(host.child, 'exit') as Promise<[number | null, string | null]>;
  await Promise.all(Array.from({ length: 19 }, async (_, index) => (await ask(`/${index}`)).text()));
  await end(host, ask, tokens);
  const [code, signal] = await exit;
  return { code, signal, tokens, errors: host.said() };
}

const ENDINGS: readonly [string, string, Parameters<typeof endHost>[1], Partial<Ended>][] = [
  ['exits with its code', 'exit', (_host, ask) => ask('/end'), { code: 3 }],
  ['handles the signal itself', 'handles', ({ child }) => child.kill('SIGTERM'), { code: 7, errors: '' }],
];

describe('a host that ends without closing the profiler', () => {
  withBuild();

  describe('and stores in files', () => {
    let env: { PROFILER_DIR: string };

    beforeEach(() => {
      env = { PROFILER_DIR: join(freshFolder(), 'profiles') };
    });

    async function rows(): Promise<ProfileIndex[]> {
      const store = createStoreIn(env.PROFILER_DIR);
      const found = await store.find({ limit: 100, offset: 0 });
      await store.close();
      return found.rows;
    }

    /** The host writes by itself, while it runs. */
    const untilWritten = (tokens: readonly string[]): Promise<void> =>
      until(async () => {
        const written = (await rows()).map(({ token }) => token);
        return tokens.every((token) => written.includes(token));
      }, 'all of them are on the disk');

    for (const [title, ending, end, outcome] of ENDINGS)
      it(`loses nothing when it ${title}`, async () => {
        const { tokens, ...ended } = await endHost({ ...env, ENDING: ending }, end);
        expect(ended).to.deep.include(outcome);
        expect((await rows()).map(({ token }) => token)).to.include.members(tokens);
      });

    it('loses nothing of the workers of a cluster', async () => {
      const { code, tokens } = await endHost(
        { ...env, ENDING: 'cluster' },
        async ({ child }, _ask, asked) => {
          await untilWritten(asked);
          child.kill('SIGTERM');
        },
      );
      expect(code).to.equal(5);
      expect((await rows()).map(({ token }) => token)).to.include.members(tokens);
    });

    it('is ended by SIGTERM as without us, and loses the last moment at most', async () => {
      const { tokens, ...ended } = await endHost(
        { ...env, ENDING: 'signal' },
        async ({ child }, _ask, asked) => {
          await untilWritten(asked);
          child.kill('SIGTERM');
        },
      );
      expect(ended).to.deep.equal({ code: null, signal: 'SIGTERM', errors: '' });
      expect((await rows()).map(({ token }) => token)).to.include.members(tokens);
    });

    it('goes on after an error that a domain takes: no profile says that its request ended the process', async () => {
      const host = await startHost({ ...env, ENDING: 'domain' });
      const token = (await fetch(`${host.origin}/end`)).headers.get('x-debug-token') ?? '';
      let profile = '';
      await until(async () => {
        profile = await (await fetch(`${host.origin}/_profiler/${token}.md`)).text();
        return profile.includes('The host is broken.');
      }, 'the error is recorded');
      expect(profile).to.include('uncaught exception').and.not.include('process ended');
      const exit = once(host.child, 'exit');
      host.child.kill('SIGTERM');
      expect(await exit).to.deep.equal([null, 'SIGTERM']);
    });

    const untilHanging = (url: string): Promise<void> =>
      until(
        () =>
          existsSync(env.PROFILER_DIR) &&
          readdirSync(env.PROFILER_DIR)
            .filter((name) => name.endsWith('.rows'))
            .some((name) => readFileSync(join(env.PROFILER_DIR, name), 'utf8').includes(url)),
        'it is stored while it runs',
      );

    it('shows what was cut off by SIGKILL or by a throw, and the request that threw, with stack and log lines', async () => {
      const folder = env.PROFILER_DIR;
      let hanging: Promise<unknown> | undefined;
      const killed = await endHost(env, async ({ child, origin }, _ask, asked) => {
        hanging = fetch(`${origin}/hangs?killed`).catch(() => null);
        await Promise.all([untilHanging('/hangs?killed'), untilWritten(asked)]);
        child.kill('SIGKILL');
      });
      const threw = await endHost({ ...env, ENDING: 'throw' }, async ({ origin }, ask) => {
        hanging = Promise.all([hanging, fetch(`${origin}/hangs?threw`).catch(() => null)]);
        await untilHanging('/hangs?threw');
        await ask('/end?password=hunter2hunter2');
      });
      await hanging;
      expect(threw).to.include({ code: 1, signal: null });
      expect((await rows()).map(({ token }) => token)).to.include.members([
        ...killed.tokens,
        ...threw.tokens,
      ]);
      expect(statSync(folder).mode & 0o777).to.equal(0o700);
      const longAgo = new Date(Date.now() - 60_000);
      for (const name of readdirSync(folder)) {
        expect(statSync(join(folder, name)).mode & 0o777).to.equal(0o600);
        utimesSync(join(folder, name), longAgo, longAgo);
      }

      const next = await startHost(env);
      const read = async (path: string): Promise<string> =>
        (await fetch(`${next.origin}/_profiler/${path}`)).text();
      let profiles: ProfileIndex[] = [];
      // A busy machine may show rows before their labels are made.
      await until(async () => {
        ({ profiles } = JSON.parse(await read('search.json?limit=100')) as { profiles: ProfileIndex[] });
        return profiles.every(({ findings }) => findings !== null);
      }, 'all are labelled');
      for (const url of ['/hangs?killed', '/hangs?threw']) {
        const row = profiles.find((one) => one.url === url);
        expect(row, url).to.deep.include({ state: 'final', status: null });
        // A busy machine may have added one about itself.
        expect(row?.marks).to.deep.include({ label: 'cut off', severity: 'warn' });
        if (url === '/hangs?killed')
          expect(await read(`${row?.token}?panel=overview`)).to.include(
            'cut off: the process ended while this ran',
          );
      }
      const thrower = profiles.find(({ url }) => url.startsWith('/end'));
      expect(thrower?.marks[0]).to.deep.equal({ label: 'process ended', severity: 'bad' });
      expect(thrower?.error).to.equal('Error: The host is broken.');
      expect(await read(`${threw.tokens.at(-1)}.json`))
        .to.include('ending-host.mjs')
        .and.include('about to end')
        .and.not.include('hunter2');
      expect(await read('abcdef')).to.match(/ended by an uncaught exception at/);
      next.child.kill('SIGKILL');
    });
  });

  describe('and stores in PostgreSQL', () => {
    const server = withPostgres();
    let database: pg.Client;
    let env: { PROFILER_DIR: string; SETTINGS: string };

    before(async () => {
      await runProfilerMigrations({ connection: server().connection, schema: 'ends' });
      database = new pg.Client(server().connection);
      await database.connect();
    });
    after(() => database.end());
    beforeEach(() => {
      env = {
        PROFILER_DIR: join(freshFolder(), 'profiles'),
        SETTINGS: JSON.stringify({ connection: server().connection, schema: 'ends' }),
      };
    });

    async function missing(tokens: readonly string[]): Promise<string[]> {
      const { rows } = await database.query<{ token: string }>(
        'select token from ends.hindsight_profiles where token = any($1)',
        [tokens],
      );
      return tokens.filter((token) => !rows.some((row) => row.token === token));
    }

    const segments = (): string[] =>
      readdirSync(dirname(env.PROFILER_DIR), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.rows'))
        .map((name) => join(dirname(env.PROFILER_DIR), name));

    /** What it could not store before it ended is stored by the next one. */
    async function untilStored(tokens: readonly string[]): Promise<void> {
      // Or the next one would wait until it is sure that nobody writes them any more.
      for (const file of segments()) utimesSync(file, 0, 0);
      const next = await startHost({ ...env, ENDING: 'exit' });
      try {
        await until(async () => (await missing(tokens)).length === 0, 'the next start stores the rest');
      } finally {
        next.child.kill('SIGKILL');
      }
    }

    it('loses nothing when it exits, nor if it is killed while the database does not reply', async () => {
      const exited = await endHost({ ...env, ENDING: 'exit' }, (_host, ask) => ask('/end'));
      await database.query('begin; lock table ends.hindsight_profiles in access exclusive mode');
      const { tokens } = await endHost({ ...env, ENDING: 'signal' }, async ({ child, said }, _ask, asked) => {
        await until(() => {
          const written = segments()
            .map((file) => readFileSync(file, 'utf8'))
            .join('');
          return asked.every((token) => written.includes(token));
        }, `all go to the files: ${said()}`);
        child.kill('SIGKILL');
      });
      // Or the server would store what a process that is gone had sent.
      await database.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await database.query('rollback');
      await untilStored([...exited.tokens, ...tokens]);
    });
  });
});
