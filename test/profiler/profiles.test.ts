import { expect } from 'chai';
import type { Context } from '../../app/profiler/record/context.ts';
import { createDeferredStore, type DeferredStore } from '../../app/profiler/store/deferred-store.ts';
import type { FindingRule } from '../../app/profiler/read/finding-rule.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { createProfiles, type Profiles } from '../../app/profiler/read/profiles.ts';
import { createRecorder, type Recorder } from '../../app/profiler/record/recorder.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import type { Store } from '../../app/profiler/store/store.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { until } from '../support/waiting.ts';

const everything = { limit: 10, offset: 0 };

describe('profiles', () => {
  let store: DeferredStore;
  let token = 0;
  let recorder: Recorder;
  let profiles: Profiles;
  /** Those that were whole, and the milliseconds that each took. */
  let [whole, wholeMs] = [0, 0];
  /** Requests that a rule looked at. */
  let examined: string[] = [];

  beforeEach(() => {
    whole = wholeMs = 0;
    const mine: string[] = [];
    examined = mine;
    const own = (store = createDeferredStore());
    recorder = createRecorder({
      panels: [
        {
          name: 'marked',
          title: 'Marked',
          collect: (context) => context.first('request')?.url ?? '',
        } satisfies Panel<string>,
        {
          name: 'request',
          title: 'Part of a summary, too',
          collect() {
            return null;
          },
        },
        {
          name: 'slow',
          title: 'Slow',
          collect() {
            whole += 1;
            const end = performance.now() + wholeMs;
            while (performance.now() < end);
            return null;
          },
        },
      ],
      rules: [
        {
          name: 'bad',
          needs: ['marked'],
          labels: ['bad'],
          overlaps: ({ marked: url }) => url.includes('bad'),
          why: 'It is bad.',
          fix: 'Be good.',
          find({ marked: url }) {
            mine.push(url);
            return url.includes('bad') ? [{ severity: 'bad', sentence: url }] : [];
          },
        } satisfies FindingRule<{ marked: string }>,
      ],
      redactor: createRedactor(),
      nextToken: () => (++token).toString(16).padStart(6, '0'),
      write: (record) => {
        own.add([record]);
        profiles.stored(record.row);
      },
      process: 'test',
      warn: () => undefined,
    });
    profiles = createProfiles({ recorder, store });
  });
  // What still runs would be stored a second later.
  afterEach(() => {
    recorder.close();
  });

  function open(url: string): Context {
    const context = recorder.open('request');
    const origin = {
      scheme: 'http' as const,
      host: 'a',
      port: 80,
      origin: 'http://a',
      clientAddress: '203.0.113.9',
      chain: [],
      trusted: false,
      hostError: null,
    };
    context.add('request', {
      method: 'GET',
      url,
      httpVersion: '1.1',
      rawHeaders: [],
      remoteAddress: '',
      remotePort: 0,
      origin,
      requestId: 'r',
      receivedRequestId: null,
    });
    return context;
  }

  /** Resolves when the profile has left the recorder. */
  const settled = ({ token }: Context): Promise<void> =>
    until(() => recorder.running(token) === undefined, `the profile ${token} is made`);

  /** Two requests of one millisecond have no order. */
  async function nextMillisecond(): Promise<void> {
    const now = Date.now();
    await until(() => Date.now() > now, 'the clock goes on');
  }

  it('are listed once, newest first, whether they run or are stored', async () => {
    store.resolve(createMemoryStore());
    for (const url of ['/a', '/b']) {
      const context = open(url);
      recorder.finish(context);
      await settled(context);
      await nextMillisecond();
    }
    open('/c');
    const { rows, total, notice } = await profiles.find(everything);
    expect(rows.map(({ url, state }) => [url, state])).to.deep.equal([
      ['/c', 'running'],
      ['/b', 'final'],
      ['/a', 'final'],
    ]);
    expect(total).to.equal(3);
    expect(notice).to.equal(null);
    expect((await profiles.find({ ...everything, url: '/B' })).rows).to.have.length(1);
  });

  it('are filtered by everything that a query names, also while they run', async () => {
    store.resolve(createMemoryStore());
    open('/a');
    const none = [
      { release: 'other' },
      { clientAddress: '203.0.113.10' },
      { status: [{ from: 304, to: 304 }] },
      { until: 1 },
    ];
    for (const query of none) expect((await profiles.find({ ...everything, ...query })).total).to.equal(0);
    const { total } = await profiles.find({ ...everything, clientAddress: '203.0.113.9', url: '/A' });
    expect(total).to.equal(1);
  });

  it('are summaries of requests that run if whole ones take long', async () => {
    store.resolve(createMemoryStore());
    for (const url of ['/a', '/b', '/c', '/d']) open(url);
    wholeMs = 10;
    const { rows } = await profiles.find(everything);
    expect(rows.map(({ url }) => url)).to.have.members(['/a', '/b', '/c', '/d']);
    expect(whole).to.be.most(1);
  });

  it('say that the list is not whole while the storage is away', async () => {
    open('/running');
    const { rows, notice } = await profiles.find(everything);
    expect(rows.map(({ url }) => url)).to.deep.equal(['/running']);
    expect(notice).to.contain('not ready yet');
    let failure: unknown;
    await profiles.read('abcdef').catch((error: unknown) => {
      failure = error;
    });
    expect(failure).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
  });

  it('are read once the storage is there, where that is awaited', async () => {
    const patient = createDeferredStore({ readWithinMs: 60_000 });
    const [page, list] = [patient.read('abcdef'), patient.find(everything)];
    patient.resolve(createMemoryStore());
    expect([await page, (await list).total]).to.deep.equal([null, 0]);
  });

  describe('that were shown lately', () => {
    let memory: Store;

    beforeEach(() => {
      memory = createMemoryStore();
      store.resolve(memory);
    });

    async function stored(url: string): Promise<string> {
      const context = open(url);
      recorder.finish(context);
      await settled(context);
      return context.token;
    }

    async function storeAgain(again: string, change: (text: string) => string): Promise<void> {
      const found = await memory.read(again);
      if (found !== null) memory.add([{ row: found.row, text: change(found.text) }]);
    }

    it('are not concluded again, what lies beside them is read', async () => {
      const shown = await stored('/a');
      const first = await profiles.read(shown);
      await profiles.amend(shown, 'plan', 1);
      const second = await profiles.read(shown);
      expect(second?.profile).to.equal(first?.profile);
      expect(second?.amendments).to.deep.equal({ plan: 1 });
    });

    it('are gone when they are stored no more', async () => {
      const shown = await stored('/a');
      await profiles.read(shown);
      await profiles.clear();
      expect(await profiles.read(shown)).to.equal(null);
    });

    it('are concluded again when another process has stored them anew', async () => {
      const shown = await stored('/a');
      await profiles.read(shown);
      await storeAgain(shown, (text) => text.replace('"/a"', '"/late"'));
      expect((await profiles.read(shown))?.profile.url).to.equal('/late');
    });

    it('are concluded again when a summary is stored anew, whose text is always empty', async () => {
      const shown = await stored('/a');
      const row = (await memory.read(shown))?.row ?? expect.fail('it is not stored');
      for (const url of ['/b', '/c']) {
        memory.add([{ row: { ...row, url, summary: 'limit' }, text: '' }]);
        expect((await profiles.read(shown))?.profile.url).to.equal(url);
      }
    });
  });

  describe('that have findings', () => {
    let memory: Store;

    beforeEach(async () => {
      memory = createMemoryStore();
      store.resolve(memory);
      for (const url of ['/bad/1', '/good', '/bad/2']) {
        const context = open(url);
        recorder.finish(context);
        await settled(context);
        await nextMillisecond();
      }
    });

    const inStore = async (): Promise<(number | null)[]> =>
      (await memory.find(everything)).rows.map(({ findings }) => findings);

    it('are examined when they are shown in a list, once, and not before', async () => {
      expect([examined.length, await inStore()]).to.deep.equal([0, [null, null, null]]);
      for (const limit of [1, 1, 10, 10]) await profiles.find({ limit, offset: 0 });
      const { rows, notice } = await profiles.find(everything);
      expect(rows.map(({ marks }) => marks)).to.deep.equal([
        [{ label: 'bad', severity: 'bad' }],
        [],
        [{ label: 'bad', severity: 'bad' }],
      ]);
      expect([examined.length, notice, await inStore()]).to.deep.equal([3, null, [1, 0, 1]]);
    });

    it('are found by them', async () => {
      const urls = async (query: object): Promise<string[]> =>
        (await profiles.find({ ...everything, ...query })).rows.map(({ url }) => url);
      expect(await urls({ mark: 'BAD' })).to.deep.equal(['/bad/2', '/bad/1']);
      expect(await urls({ hasFinding: false })).to.deep.equal(['/good']);
      expect(examined).to.have.length(3);
    });

    it('read what ran beside one once, for its rules and for its page', async () => {
      let reads = 0;
      const counting: Store = { ...memory, read: (token) => (reads++, memory.read(token)) };
      const others = createProfiles({ recorder, store: counting });
      const [row] = (await memory.find(everything)).rows;
      const found = await others.read(row?.token ?? '');
      const before = reads;
      expect(await others.overlapping(found!.profile)).to.be.an('array');
      expect([before > 0, reads]).to.deep.equal([true, before]);
    });

    it('have those before them read at once, not one after the other', async () => {
      let [open, most] = [0, 0];
      async function read(token: string) {
        most = Math.max(most, ++open);
        const found = await memory.read(token);
        open--;
        return found;
      }
      const others = createProfiles({ recorder, store: { ...memory, read } });
      const [row] = (await memory.find(everything)).rows;
      const found = await others.read(row?.token ?? '');
      expect(await others.before(found!.profile)).to.have.length(2);
      expect(most).to.equal(2);
    });

    it('are counted, and added up by route', async () => {
      const { counts } = await profiles.countsAndHistogram({ counts: [{ ...everything, mark: 'bad' }] });
      expect(counts).to.deep.equal([2]);
      const { routes, notice } = await profiles.summarize({ from: 0, until: Date.now() + 1 });
      expect(routes.flatMap(({ marks }) => marks)).to.deep.equal([
        { mark: 'bad', count: 2, severity: 'bad' },
      ]);
      expect(notice).to.equal(null);
    });

    it('are examined while nothing else happens, once somebody has read', async () => {
      await profiles.read('000000');
      await until(() => examined.length === 3, 'all are examined');
      await until(async () => !(await inStore()).includes(null), 'their labels are stored');
    });

    it('are shown without labels if their records can’t be read any more', async () => {
      const lost = { ...memory, read: () => Promise.resolve(null) };
      const others = createProfiles({ recorder, store: lost });
      const { rows, notice } = await others.find({ ...everything, hasFinding: true });
      expect([rows, notice]).to.deep.equal([[], null]);
      expect((await others.find(everything)).rows).to.have.length(3);
    });
  });

  it('know their children', async () => {
    store.resolve(createMemoryStore());
    const parent = open('/broken');
    const child = recorder.open('error_page', parent);
    recorder.finish(child);
    recorder.finish(parent);
    await Promise.all([settled(child), settled(parent)]);
    expect((await profiles.children(parent.token)).map(({ token, kind }) => [token, kind])).to.deep.equal([
      [child.token, 'error_page'],
    ]);
    expect((await profiles.read(parent.token))?.profile.child).to.equal(child.token);
    expect((await profiles.find(everything)).rows).to.have.length(1);
  });

  it('are added up by route from the storage, or say why not', async () => {
    const context = open('/a');
    const failure: unknown = await profiles
      .summarize({ from: 0, until: Date.now() + 1 })
      .catch((error: unknown) => error);
    expect(failure).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
    expect(await profiles.routePercentiles({ ...recorder.snapshot(context), route: '/a' })).to.equal(null);
    store.resolve(createMemoryStore());
    recorder.finish(context);
    await settled(context);
    const { routes, looked } = await profiles.summarize({ from: 0, until: Date.now() + 1 });
    expect([looked, routes[0]?.newest]).to.deep.equal([1, context.token]);
    expect(await profiles.routePercentiles({ ...recorder.snapshot(context), route: '/a' })).to.include({
      count: 0,
    });
    expect(await profiles.routePercentiles(recorder.snapshot(context))).to.equal(null);
  });
});
