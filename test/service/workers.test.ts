/** WEB_CONCURRENCY: several workers of the real service on one port and one database. Behind pgbouncer: test/storage/pgbouncer.test.ts. */
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { environmentOf, freshVarDir, withPostgres } from '../support/postgres.ts';
import {
  ask,
  spawnService,
  startService,
  tokenOf,
  type ListeningProcess,
  type ServiceProcess,
} from '../support/service-process.ts';
import { until } from '../support/waiting.ts';

/** Enough for a request to be answered by another than the one that is asked about it. */
const WORKERS = 2;
const REQUESTS = 20;
/** Requests at a time. */
const AT_ONCE = 10;

interface Stored {
  profile: { token: string; url: string; process: string };
  source: string;
}

interface Listed {
  total: number;
  profiles: { token: string; process: string }[];
}

/** Runs `work` for every number below `count`, some at a time; results in order. */
async function many<T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      results[number] = await work(number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return results;
}

function pidOf(name: string): number {
  return Number(name.split(':').at(-1));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe(`${WORKERS} workers`, () => {
  const server = withPostgres();
  const varDir = freshVarDir();
  let service: ListeningProcess | undefined;
  let origin: string;

  after(() => service?.ended('SIGTERM'));

  async function start(workers = WORKERS): Promise<ListeningProcess> {
    const database = environmentOf(server().connection);
    service = await startService({ ...database, WEB_CONCURRENCY: String(workers), VAR_DIR: varDir });
    ({ origin } = service);
    return service;
  }

  async function stored(token: string): Promise<Stored | null> {
    const { status, body } = await ask(`${origin}/_profiler/${token}.json`);
    return status === 200 ? (JSON.parse(body) as Stored) : null;
  }

  /** Asks again where the machine was too busy for the second that is waited for; null where that does not help. */
  async function storedAtLast(token: string): Promise<Stored | null> {
    let found: Stored | null = null;
    await until(async () => (found = await stored(token)) !== null, token).catch(() => undefined);
    return found;
  }

  async function list(query: string): Promise<Listed> {
    return JSON.parse((await ask(`${origin}/_profiler/search.json?${query}`)).body) as Listed;
  }

  /** The list of `count` requests whose address holds `url`, once all of them are stored. */
  async function listOf(url: string, count: number): Promise<Listed> {
    let all: Listed = { total: 0, profiles: [] };
    await until(
      async () => (all = await list(`url=${url}&limit=1000`)).total >= count,
      `${count} of ${url} are stored`,
    );
    return all;
  }

  let rounds = 0;
  /** The names of the workers, once all have answered and none is without the database any more. */
  async function workerNames(): Promise<string[]> {
    let names = new Set<string>();
    await until(async () => {
      const url = `/warm-up/${++rounds}/`;
      await many(2 * AT_ONCE, () => ask(origin + url));
      const { profiles } = await listOf(url, 2 * AT_ONCE);
      names = new Set(profiles.map(({ process }) => process));
      return names.size >= WORKERS;
    }, 'all workers have answered');
    return [...names];
  }

  it('give each request a token of its own that opens through any of them within a second', async () => {
    await start();
    expect(await workerNames()).to.have.length(WORKERS);
    const seen = await many(REQUESTS, async (number) => {
      const token = tokenOf(await ask(`${origin}/load/${number}`));
      const atOnce = await stored(token);
      return { token, atOnce, found: atOnce ?? (await storedAtLast(token)) };
    });
    // All of them are there within a second, unless the machine is too busy.
    expect(seen.filter(({ atOnce }) => atOnce !== null)).to.not.be.empty;
    expect(new Set(seen.map(({ token }) => token)).size).to.equal(REQUESTS);
    seen.forEach(({ token, found }, number) => {
      expect(found?.profile.token, `profile ${token}`).to.equal(token);
      expect(found?.profile.url).to.equal(`/load/${number}`);
    });
    const sources = new Set(seen.map(({ found }) => found?.source));
    expect(sources, 'some were asked of another worker').to.include('stored');
  });

  it('list all of them, and those of each', async () => {
    const all = await listOf('/load/', REQUESTS);
    expect(all.total).to.equal(REQUESTS);
    const names = [...new Set(all.profiles.map(({ process }) => process))];
    expect(names).to.have.length(WORKERS);
    let sum = 0;
    for (const name of names) {
      const { total, profiles } = await list(`url=/load/&limit=1000&process=${encodeURIComponent(name)}`);
      expect(new Set(profiles.map(({ process }) => process))).to.deep.equal(new Set([name]));
      sum += total;
    }
    expect(sum).to.equal(REQUESTS);
  });

  it('have no profile for an invented token', async () => {
    const invented = await many(AT_ONCE, () => stored(randomBytes(3).toString('hex')));
    expect(invented.filter((profile) => profile !== null)).to.deep.equal([]);
  });

  it('go on when one is killed: another takes its place, what it had stored stays', async () => {
    const victim = (await list('url=/load/')).profiles[0]!.process;
    const ofVictim = `url=/load/&process=${encodeURIComponent(victim)}`;
    const before = await list(ofVictim);
    process.kill(pidOf(victim), 'SIGKILL');
    const answers = await many(50, () => ask(`${origin}/after`).then(tokenOf, () => null));
    expect(answers.filter((token) => token !== null).length).to.be.at.least(49);
    const names = await workerNames();
    expect(names).to.have.length(WORKERS);
    expect(names).to.not.include(victim);
    expect(service!.said()).to.match(
      new RegExp(`Worker \\d \\(process ${pidOf(victim)}\\) was ended by SIGKILL; another takes its place`),
    );
    const kept = await list(ofVictim);
    expect(kept.total).to.equal(before.total);
    for (const { token } of kept.profiles.slice(0, 5)) expect(await storedAtLast(token)).to.not.equal(null);
  });

  it('store all they have on SIGTERM, and exit 0 together', async () => {
    const names = await workerNames();
    const tokens = await many(REQUESTS, (number) => ask(`${origin}/last/${number}`).then(tokenOf));
    expect(await service!.ended('SIGTERM'), service!.said()).to.equal(0);
    expect(names.map(pidOf).filter(isAlive)).to.deep.equal([]);
    expect(service!.said()).to.not.match(/lost|Uncaught|rejection/);
    await start();
    await workerNames();
    const { profiles } = await list('url=/last/&limit=1000');
    expect(profiles.map(({ token }) => token)).to.have.members(tokens);
  });

  it('store all they have when the primary is killed, and end', async () => {
    const names = await workerNames();
    const tokens = await many(REQUESTS, (number) => ask(`${origin}/orphan/${number}`).then(tokenOf));
    await service!.ended('SIGKILL');
    await until(() => !names.map(pidOf).some(isAlive), 'no worker is left');
    const said = service!.said();
    await start(1);
    const { profiles } = await listOf('/orphan/', tokens.length);
    expect(
      profiles.map(({ token }) => token),
      said,
    ).to.have.members(tokens);
  });
});

describe('workers that can not start', () => {
  let started: ServiceProcess | undefined;
  afterEach(() => started?.ended('SIGKILL'));

  it('say so once, and the primary exits 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    started = await spawnService({ WEB_CONCURRENCY: '2', PORT: String(port), VAR_DIR: freshVarDir() });
    expect(await started.ended()).to.equal(1);
    taken.close();
    expect(started.said().trim()).to.equal(
      `Port ${port} of 127.0.0.1 is in use: end the other process or set PORT.`,
    );
  });
});
