import { expect } from 'chai';
import { pbkdf2, pbkdf2Sync } from 'node:crypto';
import type { Kept } from '../../app/findings/shared/kept.ts';
import type { RuntimeData } from '../../app/panels/runtime/data.ts';
import { ranLayer } from '../../app/panels/shared/ran-layers.ts';
import type { EarlierRequest } from '../../app/profiler/read/finding-rule.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { until } from '../support/waiting.ts';
import { besideOf } from '../support/beside.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const LONG = 250_000;

describe('finding event-loop-blocked', () => {
  const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
  withQuietConsole();
  /** Answers the request that idles. */
  let letGo: (() => void) | undefined;
  const blocksOf = ({ profile }: Asked): RuntimeData['blocks'] =>
    (profile.panels.runtime?.data as RuntimeData).blocks;
  /** A busy machine lets the process wait while its code computes. */
  const computing = (asked: Asked): boolean =>
    blocksOf(asked).length > 0 &&
    blocksOf(asked).every(({ cpuMs = 0, durationMs }) => cpuMs > durationMs * 0.7);
  /** Only the request's own code blocked the loop; on a busy machine it is blocked more often. */
  const byItselfOnly = (asked: Asked): boolean => blocksOf(asked).length === 1 && computing(asked);
  const ask = withFindingsApp((app) => {
    app.get('/layer', function hashPassword(_req, res) {
      pbkdf2Sync('a', 'b', LONG, 64, 'sha512');
      res.send('hashed');
    });
    app.get('/later', async (_req, res) => {
      await wait(30);
      console.info('hashing');
      pbkdf2Sync('a', 'b', LONG, 64, 'sha512');
      await wait(5);
      res.send('hashed');
    });
    app.get('/idle', (_req, res) => {
      letGo = () => res.send('waited');
    });
    app.get('/thread', (_req, res) => {
      pbkdf2('a', 'b', LONG, 64, 'sha512', () => res.send('hashed'));
    });
  });

  it('names the handler that blocked it', async () => {
    const { of, profile } = await ask.when('/layer', byItselfOnly);
    const [finding] = of('event-loop-blocked');
    expect(profile.durationMs).to.be.above(60);
    expect(finding).to.include({ label: 'loop blocked', panel: 'runtime', anchor: 'h1' });
    expect(finding?.sentence).to.match(
      /^The event loop was blocked .*\d+\.\d+ m?s of \d+\.\d+ m?s.*, in synchronous code of hashPassword before test\/findings\/event-loop-blocked\.test\.ts:\d+(?:; the process also waited .+)?$/,
    );
    expect(finding?.place).to.match(/event-loop-blocked\.test\.ts:\d+$/);
  });

  it('says that the rest of the time was a wait for a CPU', () => {
    const find = (queuedMs: number, durationMs = 990) => {
      const by = { profile: 'b00b1e', what: 'GET /reports', where: 'report' };
      const runtime = { blocks: [{ startMs: 5, durationMs: 310, by }], concurrent: 2, queuedMs, cpuUserMs: 300, cpuSystemMs: 0 }; // prettier-ignore
      return draftsOf('event-loop-blocked', { runtime }, { durationMs, token: 'a1b2c3' })[0]?.sentence;
    };
    expect(find(660)).to.match(
      /in report; the process also waited 660\.0 ms for a CPU: the machine was busy$/,
    );
    expect(find(660, 400), 'within the block').to.match(/in report$/);
    expect(find(100)).to.match(/in report$/);
  });

  it('names the other request that blocked it, if that is known', () => {
    const by = { profile: 'b00b1e', what: 'GET /reports/daily', where: 'dailyReport' };
    const runtime = {
      blocks: [{ startMs: 5, durationMs: 80, by }],
      concurrent: 2,
    };
    const find = (token: string) =>
      draftsOf('event-loop-blocked', { runtime }, { durationMs: 100, token })[0];
    expect(find('a1b2c3')?.sentence).to.equal(
      'The event loop was blocked for 80.0 ms of 100.0 ms, by another request (GET /reports/daily), in dailyReport',
    );
    expect(find('b00b1e')).to.equal(undefined);
  });

  it('names the only other request that ran while this one waited for a call', () => {
    const block = { startMs: 20, durationMs: 80, cpuMs: 80 };
    const call = {
      method: 'GET',
      url: 'http://rain.test/',
      startMs: 5,
      durationMs: 100,
      caller: 'src/rain.ts:2',
    };
    const own = {
      runtime: { blocks: [block], concurrent: 2, startMark: 1000 },
      http_client: { calls: [call] },
    };
    const query = { statement: 0, startMs: 1, durationMs: 8, caller: 'src/archive.ts:6' };
    const other = {
      runtime: { blocks: [], concurrent: 2, startMark: 1010 },
      database: { statements: [{ sql: 'select * from readings' }], queries: [query] },
      routing: {
        layers: [{ name: 'archive', kind: 'handler', startMs: 0, durationMs: 1, source: 'src/a.ts:1' }],
      },
    };
    const archives = { method: 'POST', url: '/archives', token: 'b00b1e', durationMs: 100 };
    const find = (kept: object, beside: object) =>
      draftsOf(
        'event-loop-blocked',
        kept,
        { durationMs: 120, token: 'a1b2c3' },
        { overlapping: [{ head: archives, kept: beside }] as never },
      )[0];
    expect(find(own, other)?.sentence).to.equal(
      'The event loop was blocked for 80.0 ms of 120.0 ms, by another request (POST /archives, b00b1e), likely in code of archive that ran after select … from readings',
    );
    expect(find(own, other)?.place).to.equal('src/archive.ts:6');
    expect(find({ ...own, http_client: { calls: [] } }, other), 'perhaps by itself').to.equal(undefined);
    const waits = { ...other, http_client: { calls: [{ ...call, startMs: 0 }] } };
    expect(find(own, waits), 'both wait').to.equal(undefined);
  });

  it('is no worse than the large result whose rows blocked it', () => {
    const ran = { name: 'list', kind: 'handler', pattern: '/', method: 'GET', source: 'src/app.ts:9', startMs: 1, durationMs: 900 } as const; // prettier-ignore
    const row = ranLayer({ ...ran, settledMs: null, nextMs: null, outcome: 'running', error: false, depth: 0 }); // prettier-ignore
    const find = (rows: number) => {
      const runtime = { blocks: [{ startMs: 5, durationMs: 800, cpuMs: 790 }], concurrent: 1 };
      const query = { statement: 0, startMs: 2, durationMs: 700, rows };
      const database = { statements: [{ sql: 'select name from customers' }], queries: [query] };
      const kept = { runtime, routing: { layers: [row] }, database } as unknown as Pick<Kept, 'runtime'>;
      return draftsOf('event-loop-blocked', kept, { durationMs: 900, child: null })[0];
    };
    expect([find(6000)?.severity, find(60)?.severity]).to.deep.equal(['warn', 'bad']);
  });

  it('says that little CPU was used, and accuses nobody of it if nothing shows who waited', () => {
    const ran = { name: 'exportOrders', kind: 'handler', pattern: '/', method: 'GET', source: 'src/app.ts:9', startMs: 1, durationMs: 90 } as const; // prettier-ignore
    const row = ranLayer({ ...ran, settledMs: null, nextMs: null, outcome: 'running', error: false, depth: 0 }); // prettier-ignore
    const find = (layers: unknown[]) => {
      const runtime = { blocks: [{ startMs: 5, durationMs: 80, cpuMs: 3 }], concurrent: 1 };
      const kept = { runtime, routing: { layers } } as unknown as Pick<Kept, 'runtime' | 'routing'>;
      return draftsOf('event-loop-blocked', kept, { durationMs: 100, child: null });
    };
    expect(find([row])[0]?.sentence).to.equal(
      'The event loop was blocked for 80.0 ms of 100.0 ms, in synchronous code of exportOrders; meanwhile it used only 3.0 ms of CPU: a synchronous wait (file, child process), or a busy machine',
    );
    expect(find([])).to.deep.equal([]);
  });

  it('names the handler and what it awaited where nothing else ran, if the block followed at once', () => {
    const row = ranLayer({ name: 'login', kind: 'handler', pattern: '/', method: 'POST', source: 'src/app.ts:9', startMs: 1, durationMs: 2, settledMs: null, nextMs: null, outcome: 'running', error: false, depth: 0 }); // prettier-ignore
    const blockedFor = (durationMs: number) =>
      ({ kept: { runtime: { blocks: [{ startMs: 0, durationMs }] } } }) as unknown as EarlierRequest;
    const find = (endMs: number, concurrent = 1, earlier: EarlierRequest[] = []) => {
      const runtime = { blocks: [{ startMs: 30, durationMs: 80, cpuMs: 79 }], concurrent };
      const query = { statement: 0, startMs: 5, durationMs: endMs - 5, caller: 'src/app.ts:11' };
      const database = { statements: [{ sql: 'select name from customers' }], queries: [query] };
      const kept = { runtime, routing: { layers: [row] }, database } as unknown as Pick<Kept, 'runtime'>;
      const head = { durationMs: 200, child: null } as ProfileHead;
      return draftsOf('event-loop-blocked', kept, head, { earlier })[0];
    };
    expect(find(28)?.sentence).to.match(/, likely in code of login that ran after select … from customers$/);
    expect(find(28)).to.include({ place: 'src/app.ts:11' });
    expect(find(6)?.sentence).to.match(/, possibly in code of login that ran after/);
    row.startMs = 29;
    expect(find(28)?.sentence, 'of a middleware before').to.match(/, likely in code of login$/);
    expect(find(28)).to.include({ place: 'src/app.ts:9' });
    row.startMs = 1;
    expect(find(28, 2)?.sentence).to.equal(undefined);
    expect(find(90)?.sentence).to.equal(undefined);
    const usual = [90, 70, 0].map(blockedFor);
    expect(find(28, 2, usual)?.sentence).to.match(
      /by this request or the other one that overlapped with it$/,
    );
    expect(find(90, 1, usual)?.sentence).to.match(/by this request or other work in the process$/);
    expect(find(90, 1, [90, 0, 0].map(blockedFor)), 'code that was loaded once').to.equal(undefined);
  });

  it('names no single request if the cause is unknown: another request waited at the time', async () => {
    const idle = ask('/idle');
    await until(() => letGo !== undefined, 'the other request waits');
    await wait(40);
    await ask('/layer');
    letGo?.();
    const [finding] = (await idle).of('event-loop-blocked');
    if (finding !== undefined)
      expect(finding.sentence).to.match(/by another request \(GET \/layer\), in hashPassword$/);
    const isFound = (asked: Asked): boolean => computing(asked) && asked.of('event-loop-blocked').length > 0;
    expect((await ask.when('/later', isFound)).of('event-loop-blocked')[0]?.sentence).to.match(
      /by this request/,
    );
  });

  it('counts on a busy machine what was computed, and what no wait for a CPU explains', () => {
    const find = (cpuUserMs: number, queuedMs: number) => {
      const by = { profile: 'b00b1e', what: 'GET /reports/daily', where: 'dailyReport' };
      const blocks = [{ startMs: 0, durationMs: 68, cpuMs: 68, by }];
      const runtime = { blocks, concurrent: 2, cpuUserMs, cpuSystemMs: 0 };
      const busy = besideOf([], { totalMs: 69, queuedMs });
      return draftsOf('event-loop-blocked', { runtime }, { durationMs: 69, token: 'a1b2c3' }, busy);
    };
    expect(find(10, 55)).to.deep.equal([]);
    expect(find(66, 55)).to.have.length(1);
    expect(find(10, 8), 'a file is read at once').to.have.length(1);
  });

  it('ignores work in a thread', async () => {
    // On a busy machine the process itself has to wait, which looks like a blocked loop.
    const { of, profile } = await ask.when('/thread', (asked) => blocksOf(asked).length === 0);
    expect(profile.durationMs).to.be.above(60);
    expect(of('event-loop-blocked')).to.deep.equal([]);
  });
});
