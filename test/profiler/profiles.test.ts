import { expect } from 'chai';
import type { Context } from '../../app/profiler/context.ts';
import { createDeferredStorage, type DeferredStorage } from '../../app/profiler/deferred-storage.ts';
import { createProfiles, type Profiles } from '../../app/profiler/profiles.ts';
import { createRecorder, type Recorder } from '../../app/profiler/recorder.ts';
import { createRedactor } from '../../app/profiler/redact.ts';
import { createTokenSource } from '../../app/profiler/token-source.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { createWriter, type Writer } from '../../app/profiler/writer.ts';
import { createMemoryStorage } from '../../app/storage/memory-profile-storage.ts';
import { until } from '../support/waiting.ts';

const everything = { limit: 10, offset: 0 };

describe('profiles', () => {
  let storage: DeferredStorage;
  let recorder: Recorder;
  let writer: Writer;
  let profiles: Profiles;
  /** Rows and documents that were made of a context. */
  /** Those that were whole, and the milliseconds that each took. */
  let [whole, wholeMs] = [0, 0];

  beforeEach(() => {
    whole = wholeMs = 0;
    storage = createDeferredStorage();
    writer = createWriter({ storage, warn: () => undefined, lingerMs: 5 });
    const tokens = createTokenSource();
    recorder = createRecorder({
      panels: [
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
      redactor: createRedactor(),
      nextToken: () => tokens.next(),
      write: (profile) => {
        writer.enqueue(profile);
      },
      process: 'test',
      warn: () => undefined,
    });
    profiles = createProfiles({ recorder, writer, storage });
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

  it('are found while they run, while they wait and when they are stored', async () => {
    const context = open('/a');
    expect((await profiles.read(context.token))?.source).to.equal('running');
    recorder.finish(context);
    await settled(context);
    expect((await profiles.read(context.token))?.source).to.equal('queued');
    storage.resolve(createMemoryStorage());
    await writer.flush(5000);
    const found = await profiles.read(context.token);
    expect(found?.source).to.equal('stored');
    expect(found?.profile).to.include({ state: 'final', url: '/a', token: context.token });
  });

  it('are listed once, newest first, whether they run, wait or are stored', async () => {
    storage.resolve(createMemoryStorage());
    for (const url of ['/a', '/b']) {
      const context = open(url);
      recorder.finish(context);
      await settled(context);
      await nextMillisecond();
    }
    await writer.flush(5000);
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
    storage.resolve(createMemoryStorage());
    open('/a');
    const none = [{ release: 'other' }, { clientAddress: '203.0.113.10' }, { status: 304 }, { until: 1 }];
    for (const query of none) expect((await profiles.find({ ...everything, ...query })).total).to.equal(0);
    const { total } = await profiles.find({ ...everything, clientAddress: '203.0.113.9', url: '/A' });
    expect(total).to.equal(1);
  });

  it('have only the heads of requests that run if whole ones take long', async () => {
    storage.resolve(createMemoryStorage());
    for (const url of ['/a', '/b', '/c', '/d']) open(url);
    wholeMs = 10;
    const { rows } = await profiles.find(everything);
    expect(rows.map(({ url }) => url)).to.have.members(['/a', '/b', '/c', '/d']);
    expect(whole).to.equal(1);
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
    const patient = createDeferredStorage({ readWithinMs: 60_000 });
    const [page, list] = [patient.read('abcdef'), patient.find(everything)];
    patient.resolve(createMemoryStorage());
    expect([await page, (await list).total]).to.deep.equal([null, 0]);
  });

  describe('that were shown lately', () => {
    let memory: ProfileStorage;
    /** Whether the storage gave a document, by read. */
    let reads: boolean[];

    beforeEach(() => {
      memory = createMemoryStorage();
      reads = [];
      storage.resolve({
        ...memory,
        async read(token, wanted) {
          const found = await memory.read(token, wanted);
          reads.push(found !== null && found.document !== null);
          return found;
        },
      });
    });

    async function stored(url: string): Promise<string> {
      const context = open(url);
      recorder.finish(context);
      await settled(context);
      await writer.flush(5000);
      return context.token;
    }

    async function storeAgain(token: string, change: (text: string) => string): Promise<void> {
      const { rows } = await profiles.find({ ...everything, token });
      const document = change((await memory.read(token))?.document ?? '');
      await memory.write(rows.map((index) => ({ index, document, bytes: Buffer.from(document) })));
    }

    /** Whether the document was read, at each of two reads of a profile that was stored so. */
    async function readTwice(change: (text: string) => string): Promise<boolean[]> {
      const token = await stored('/twice');
      await storeAgain(token, change);
      reads = [];
      for (let read = 0; read < 2; read++) await profiles.read(token);
      return reads;
    }

    it('are not read again, nor completed a third time, what lies beside them is', async () => {
      const token = await stored('/a');
      const first = await profiles.read(token);
      await profiles.amend(token, 'plan', 1);
      const second = await profiles.read(token);
      const third = await profiles.read(token);
      expect(second?.profile).to.deep.equal(first?.profile);
      expect(third?.profile).to.equal(second?.profile);
      expect([second?.amendments, third?.amendments]).to.deep.equal([{ plan: 1 }, { plan: 1 }]);
      expect(reads).to.deep.equal([true, false, false]);
    });

    it('are gone when they are stored no more', async () => {
      const token = await stored('/a');
      await profiles.read(token);
      await profiles.clear();
      expect(await profiles.read(token)).to.equal(null);
    });

    it('are read again when another process has stored them anew', async () => {
      const token = await stored('/a');
      await profiles.read(token);
      await storeAgain(token, (text) => text.replace('"/a"', '"/late"'));
      expect((await profiles.read(token))?.profile.url).to.equal('/late');
      expect(reads).to.deep.equal([true, true]);
    });

    it('are few, and none that runs or is very large', async () => {
      const tokens = [];
      for (const url of ['/1', '/2', '/3', '/4', '/5']) tokens.push(await stored(url));
      for (const token of tokens) await profiles.read(token);
      reads = [];
      for (const token of tokens.toReversed()) await profiles.read(token);
      expect(reads).to.deep.equal([false, false, false, false, true]);
      expect(await readTwice((text) => `${text}${' '.repeat(300_000)}`)).to.deep.equal([true, true]);
      expect(await readTwice((text) => text.replace('"final"', '"running"'))).to.deep.equal([true, true]);
      expect(await readTwice((text) => text)).to.deep.equal([true, false]);
    });
  });

  it('know their children', async () => {
    storage.resolve(createMemoryStorage());
    const parent = open('/broken');
    const child = recorder.open('error_page', parent);
    recorder.finish(child);
    recorder.finish(parent);
    await Promise.all([settled(child), settled(parent)]);
    await writer.flush(5000);
    expect((await profiles.children(parent.token)).map(({ token, kind }) => [token, kind])).to.deep.equal([
      [child.token, 'error_page'],
    ]);
    expect((await profiles.read(parent.token))?.profile.child).to.equal(child.token);
    expect((await profiles.find(everything)).rows).to.have.length(1);
  });

  it('take late facts beside the document', async () => {
    storage.resolve(createMemoryStorage());
    const context = open('/a');
    recorder.finish(context);
    await settled(context);
    expect(await profiles.amend(context.token, 'pin', true)).to.equal(true);
    expect((await profiles.read(context.token))?.amendments).to.deep.equal({ pin: true });
    expect(await profiles.amend('000000', 'pin', true)).to.equal(false);
  });

  it('are added up by route from the storage, or say why not', async () => {
    const context = open('/a');
    const failure: unknown = await profiles
      .summarize({ from: 0, until: Date.now() + 1 })
      .catch((error: unknown) => error);
    expect(failure).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
    expect(await profiles.routePercentiles({ ...recorder.snapshot(context), route: '/a' })).to.equal(null);
    storage.resolve(createMemoryStorage());
    recorder.finish(context);
    await settled(context);
    await writer.flush(5000);
    const { routes, looked } = await profiles.summarize({ from: 0, until: Date.now() + 1 });
    expect([looked, routes[0]?.newest]).to.deep.equal([1, context.token]);
    expect(await profiles.routePercentiles({ ...recorder.snapshot(context), route: '/a' })).to.include({
      count: 0,
    });
    expect(await profiles.routePercentiles(recorder.snapshot(context))).to.equal(null);
  });

  it('know no profile for another token', async () => {
    storage.resolve(createMemoryStorage());
    expect(await profiles.read('000000')).to.equal(null);
  });
});
