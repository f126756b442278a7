/** What every storage must do; run against memory and each PostgreSQL. */
import { expect } from 'chai';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import type { ProfileQuery, ProfileStorage, QueuedProfile } from '../../app/profiler/storage.ts';
import { profileIndex } from '../support/profile-index.ts';
import { describeSummaries } from './summarize.ts';

const START = 1_700_000_000_000;
const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** A profile whose token is `number` in hexadecimal; younger with a higher number. */
export function profileOf(number: number, changes: Partial<ProfileIndex> = {}, text = 'x'): QueuedProfile {
  const token = number.toString(16).padStart(6, '0');
  const document = JSON.stringify({ token, text });
  const index = profileIndex({
    token,
    url: `/items/${number}`,
    route: '/items/:id',
    startedAt: START + number,
    durationMs: number + 0.5,
    queries: number,
    bytes: Buffer.byteLength(document),
    ...changes,
  });
  return { index, document, bytes: Buffer.from(document) };
}

const everything = { olderThan: 0, count: 1e6, bytes: 1e12, profilerCount: 1e6 };

export interface ContractSubject {
  /** Something else empties it before each test: one is opened for all, because connections cost more than the tests. */
  isEmptied?: true;
  /** An empty storage. */
  create(onClash: (tokens: readonly string[]) => void): Promise<ProfileStorage>;
}

export function describeStorageContract(subject: ContractSubject): void {
  let storage: ProfileStorage;
  const clashes: string[] = [];

  const [first, last] = subject.isEmptied === true ? [before, after] : [beforeEach, afterEach];
  first(async () => {
    storage = await subject.create((tokens) => clashes.push(...tokens));
  });
  last(() => storage?.close());
  beforeEach(() => {
    clashes.length = 0;
  });

  async function tokens(query: Partial<ProfileQuery>): Promise<string[]> {
    const { rows } = await storage.find({ limit: 100, offset: 0, ...query });
    return rows.map(({ token }) => token);
  }

  async function indexOf(token: string): Promise<ProfileIndex | undefined> {
    return (await storage.find({ token, limit: 1, offset: 0 })).rows[0];
  }

  it('gives back what was written', async () => {
    const profile = profileOf(1, {
      error: 'Error: no',
      mark: 'N+1',
      findings: 2,
      marks: [
        { label: 'N+1', severity: 'bad' },
        { label: 'slow call', severity: 'warn' },
        { label: 'flood', severity: 'info' },
      ],
      location: '/account',
      referrer: '/login?next=1',
      dest: 'empty',
      parent: '0000ff',
      child: '0000fe',
    });
    await storage.write([profile]);
    expect(await storage.read('000001')).to.deep.include({ document: profile.document, amendments: {} });
    expect((await storage.find({ limit: 1, offset: 0 })).rows).to.deep.equal([profile.index]);
  });

  it('gives null for an unknown token, whatever it looks like', async () => {
    for (const token of ['000002', '', "'; drop table x", '\0', '\ud800']) {
      expect(await storage.read(token)).to.equal(null);
    }
  });

  it('writes nothing for an empty batch', async () => {
    await storage.write([]);
    expect((await storage.find({ limit: 1, offset: 0 })).total).to.equal(0);
  });

  it('keeps values that are empty: no status, no duration, no route', async () => {
    const profile = profileOf(3, {
      status: null,
      durationMs: null,
      route: null,
      origin: null,
      state: 'running',
    });
    await storage.write([profile]);
    expect(await indexOf('000003')).to.deep.equal(profile.index);
  });

  it('replaces a running profile by the final one of the same request, never the other way', async () => {
    await storage.write([profileOf(4, { state: 'running', status: null }, 'running')]);
    await storage.write([profileOf(4, {}, 'final')]);
    await storage.write([profileOf(4, { state: 'running', status: null }, 'late')]);
    expect((await indexOf('000004'))?.state).to.equal('final');
    expect((await storage.read('000004'))?.document).to.contain('"final"');
    expect(clashes).to.deep.equal([]);
  });

  it('gives a document that is known by its version not again, until another one is stored', async () => {
    await storage.write([profileOf(1, { state: 'running' }, 'running')]);
    const first = await storage.read('000001');
    expect(await storage.read('000001', { known: first?.version })).to.deep.equal({
      ...first,
      document: null,
    });
    await storage.amend('000001', 'pin', true);
    expect(await storage.read('000001', { known: first?.version })).to.deep.equal({
      version: first?.version,
      document: null,
      amendments: { pin: true },
    });
    await storage.write([profileOf(1, {}, 'final')]);
    const second = await storage.read('000001', { known: first?.version });
    expect(second?.document).to.contain('"final"');
    expect(second?.version).to.not.equal(first?.version);
    expect(await storage.read('000001', { known: 'no version' })).to.deep.equal(second);
    expect(await storage.read('000002', { known: first?.version })).to.equal(null);
  });

  it('takes both states of a request in one batch', async () => {
    await storage.write([profileOf(4, { state: 'running' }, 'running'), profileOf(4, {}, 'final')]);
    expect((await storage.read('000004'))?.document).to.contain('"final"');
    expect(clashes).to.deep.equal([]);
  });

  it("never overwrites another request's profile and reports the clash", async () => {
    await storage.write([profileOf(5, {}, 'first')]);
    await storage.write([profileOf(5, { process: 'web.2 12' }, 'other process'), profileOf(6)]);
    await storage.write([profileOf(5, { startedAt: START }, 'other time')]);
    expect((await storage.read('000005'))?.document).to.contain('"first"');
    expect(await storage.read('000006')).to.not.equal(null);
    expect(clashes).to.deep.equal(['000005', '000005']);
  });

  it('reports a clash inside one batch', async () => {
    await storage.write([profileOf(7, {}, 'first'), profileOf(7, { process: 'web.2 12' }, 'second')]);
    expect((await storage.read('000007'))?.document).to.contain('"first"');
    expect(clashes).to.deep.equal(['000007']);
  });

  it('stores hostile text', async () => {
    const hostile = `/a\0b\ud800c'";--\\%_\u2028\u{1f600}`;
    const profile = profileOf(
      8,
      { url: hostile, error: `E: \0\udfff`, clientAddress: '\0' },
      `\0\ud800${hostile}`,
    );
    await storage.write([profile]);
    expect((await storage.read('000008'))?.document).to.equal(profile.document);
    expect(await tokens({ url: `c'";--\\%_\u2028\u{1f600}` })).to.deep.equal(['000008']);
    expect(await tokens({ url: 'a\0b' })).to.deep.equal(['000008']);
  });

  it('stores control characters, line ends and empty texts in every column', async () => {
    const controls = Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)).join('');
    const texts = [
      controls,
      `\n\\.\n`,
      `\\.`,
      '\r',
      '\r\n',
      '\\N',
      '\x01',
      '\x02',
      '\x02\x02\x01',
      '"',
      '\t',
      '',
      ' ',
      '\x7f\x80\u00a0\u2028\ufeff',
    ];
    const profiles = texts.map((text, i) =>
      profileOf(
        i + 1,
        {
          parent: text,
          child: text,
          method: text,
          url: text,
          origin: text,
          route: text,
          clientAddress: text,
          error: text,
          mark: text,
          location: text,
          referrer: text,
          dest: text,
        },
        `${text}\0\ud800`,
      ),
    );
    await storage.write(profiles);
    for (const { index, document } of profiles) {
      expect(await storage.read(index.token)).to.deep.include({ document, amendments: {} });
      expect(await indexOf(index.token)).to.deep.equal(index);
    }
  });

  it('stores a document that is no JSON on one line, without harm to those beside it', async () => {
    const raw = ['{\n"a":\r\n"\t"}', '{"a":"\x01\x02\x03"}', '\n\\.\n'];
    const odd = raw.map((document, i) => ({
      ...profileOf(i + 1),
      document,
      bytes: Buffer.from(document),
    }));
    await storage.write([...odd, profileOf(9)]);
    for (const { index, document } of odd)
      expect((await storage.read(index.token))?.document).to.equal(document);
    expect(await storage.read('000009')).to.not.equal(null);
  });

  it('reads nothing but the bytes of a document that lies among others in shared memory', async () => {
    const memory = Buffer.from(new SharedArrayBuffer(4096));
    const profiles = [1, 2, 3].map((number) => {
      const { index, document } = profileOf(number, {}, `\u{1f600} ${number}`);
      const offset = number * 1000;
      return { index, document, bytes: memory.subarray(offset, offset + memory.write(document, offset)) };
    });
    await storage.write(profiles);
    memory.fill(0x78);
    for (const { index, document } of profiles)
      expect((await storage.read(index.token))?.document).to.equal(document);
  });

  it('keeps what is put beside a profile', async () => {
    await storage.write([profileOf(9, { state: 'running' })]);
    expect(await storage.amend('000009', 'timing', { paintMs: 12, text: '\0\ud800' })).to.equal(true);
    expect(await storage.amend('000009', 'pin', true)).to.equal(true);
    expect(await storage.amend('000009', 'pin', { by: 'me' })).to.equal(true);
    expect(await storage.amend('00000a', 'pin', true)).to.equal(false);
    await storage.write([profileOf(9)]);
    expect((await storage.read('000009'))?.amendments).to.deep.equal({
      timing: { paintMs: 12, text: '\0\ud800' },
      pin: { by: 'me' },
    });
  });

  it('keeps what profiles share, by its id', async () => {
    const hostile = JSON.stringify(`\0\ud800\n\t\\N"',{}\u{1f600}`);
    await storage.storeShared([]);
    await storage.storeShared([
      { id: 'b', text: '{"routes":[]}' },
      { id: 'a', text: hostile },
    ]);
    await storage.storeShared([{ id: 'a', text: hostile }]);
    expect([...(await storage.readShared(['a', 'c', 'b']))].sort()).to.deep.equal([
      ['a', hostile],
      ['b', '{"routes":[]}'],
    ]);
    expect((await storage.readShared([])).size).to.equal(0);
    expect((await storage.readShared(['\0', '\ud800'])).size).to.equal(0);
  });

  it('keeps what is shared while it is in use', async () => {
    await storage.storeShared([{ id: 'a', text: '1' }]);
    await storage.write([profileOf(1, { startedAt: Date.now() })]);
    await storage.purge({ ...everything, count: 0 });
    expect((await storage.readShared(['a'])).size).to.equal(1);
  });

  describe('finding', () => {
    beforeEach(() =>
      storage.write([
        profileOf(1, {
          method: 'post',
          status: 404,
          url: '/Shop/100%_off',
          clientAddress: '10.0.0.1',
          findings: 2,
          marks: [
            { label: 'N+1', severity: 'bad' },
            { label: 'slow call', severity: 'warn' },
          ],
        }),
        profileOf(2, { method: 'GET', status: 503, url: '/shop/1000_off', route: null, durationMs: null }),
        profileOf(3, {
          method: 'PUT',
          error: 'TypeError: x',
          process: 'web.2 12',
          url: '/b\\ack',
          findings: 1,
          marks: [{ label: 'exception', severity: 'bad' }],
        }),
        profileOf(4, { kind: 'profiler', url: '/_profiler/' }),
        profileOf(5, { kind: 'error_page', parent: '000002' }),
        profileOf(6, { status: 404, url: '/shop/z', traceId: TRACE, callerSpan: '000002a1b2c3d4e5' }),
      ]),
    );

    const cases: [string, Partial<ProfileQuery>, string[]][] = [
      ['requests, newest first, by default', {}, ['000006', '000003', '000002', '000001']],
      ['by kind', { kinds: ['profiler', 'error_page'] }, ['000005', '000004']],
      ['no kind', { kinds: [] }, []],
      ['by token', { token: '000002' }, ['000002']],
      ['by parent', { parent: '000002', kinds: ['error_page'] }, ['000005']],
      ['by client address', { clientAddress: '10.0.0.1' }, ['000001']],
      ['by method in any case', { method: 'Post' }, ['000001']],
      ['by status', { status: 503 }, ['000002']],
      ['by class of status', { status: { class: 4 } }, ['000006', '000001']],
      ['by part of the URL in any case', { url: 'SHOP/1' }, ['000002', '000001']],
      ['with % meaning itself', { url: '0%' }, ['000001']],
      ['with _ meaning itself', { url: '%_' }, ['000001']],
      ['with \\ meaning itself', { url: '\\a' }, ['000003']],
      ['from, inclusive', { from: START + 3 }, ['000006', '000003']],
      ['until, exclusive', { until: START + 3 }, ['000002', '000001']],
      ['longer than', { overMs: 3.5 }, ['000006']],
      ['with an error', { hasError: true }, ['000003', '000002']],
      ['without an error', { hasError: false }, ['000006', '000001']],
      ['with so many queries', { minQueries: 3 }, ['000006', '000003']],
      ['with a finding', { hasFinding: true }, ['000003', '000001']],
      ['without a finding', { hasFinding: false }, ['000006', '000002']],
      ['by a part of a badge in any case', { mark: 'n+' }, ['000001']],
      ['by a badge that is not the first', { mark: 'Slow' }, ['000001']],
      ['by process', { process: 'web.2 12' }, ['000003']],
      ['by trace', { traceId: TRACE }, ['000006']],
      ['by another trace', { traceId: TRACE.replace('0', '1') }, []],
      ['by route', { route: '/items/:id', status: 404 }, ['000006', '000001']],
      ['by several', { status: { class: 4 }, url: 'shop', hasError: false, until: START + 5 }, ['000001']],
      [
        'by duration, empty ones last',
        { sort: 'durationMs', descending: false },
        ['000001', '000003', '000006', '000002'],
      ],
      [
        'by duration downwards, empty ones last',
        { sort: 'durationMs' },
        ['000006', '000003', '000001', '000002'],
      ],
      ['by status', { sort: 'status', descending: false }, ['000003', '000006', '000001', '000002']],
      ['by method', { sort: 'method', descending: false }, ['000006', '000002', '000003', '000001']],
      ['by queries', { sort: 'queries', descending: false }, ['000001', '000002', '000003', '000006']],
      ['sorted by process', { sort: 'process' }, ['000003', '000006', '000002', '000001']],
      ['sorted by route', { sort: 'route', descending: false }, ['000006', '000003', '000001', '000002']],
      ['oldest first', { descending: false }, ['000001', '000002', '000003', '000006']],
      ['by hostile text', { url: "'; drop table", process: '\0' }, []],
    ];
    for (const [title, query, expected] of cases) {
      it(`finds ${title}`, async () => {
        expect(await tokens(query)).to.deep.equal(expected);
      });
    }

    it('finds the requests of a release, of a commit by its first digits', async () => {
      const releases = ['3f2a1b9c7d10', '3f2a1b9', 'v1', 'v10', null];
      await storage.write(releases.map((release, index) => profileOf(0x101 + index, { release })));
      expect(await tokens({ release: 'v1' })).to.deep.equal(['000103']);
      expect(await tokens({ release: '3f2a1b9' })).to.deep.equal(['000102', '000101']);
      expect(await tokens({ release: '3f2a1b9c7d10' })).to.deep.equal(['000101']);
      expect(await tokens({ release: '3f2a1b' })).to.deep.equal([]);
      expect(await tokens({ release: '%' })).to.deep.equal([]);
    });

    it('pages with the exact total', async () => {
      const page = await storage.find({ limit: 2, offset: 1 });
      expect(page.total).to.equal(4);
      expect(page.rows.map(({ token }) => token)).to.deep.equal(['000003', '000002']);
      const beyond = await storage.find({ limit: 2, offset: 9 });
      expect(beyond).to.deep.equal({ rows: [], total: 4, totalIsExact: true });
    });

    it('counts nothing where nobody asks how many there are', async () => {
      const page = await storage.find({ limit: 2, offset: 1, counted: false });
      expect(page.rows.map(({ token }) => token)).to.deep.equal(['000003', '000002']);
      expect(page.total).to.be.least(3);
    });
  });

  describe('adding up by route', () => {
    describeSummaries(() => storage, profileOf);
  });

  describe('searching for text', () => {
    const documentOf = (panels: Record<string, unknown>, more: object = {}): string =>
      JSON.stringify({ url: '/', panels, ...more });
    const withDocument = (
      number: number,
      document: string,
      changes: Partial<ProfileIndex> = {},
    ): QueuedProfile => ({
      ...profileOf(number, changes),
      document,
      bytes: Buffer.from(document),
    });

    beforeEach(() =>
      storage.write([
        withDocument(
          1,
          documentOf({ logs: { data: { lines: [{ message: 'Cart "88231" is\n100%_gone \\o/' }] } } }),
        ),
        withDocument(2, documentOf({ database: { data: { statements: [{ sql: 'select * from carts' }] } } })),
        withDocument(3, documentOf({ request: { data: { headers: [['cart', 'cart']] } } })),
        withDocument(4, documentOf({}, { error: { name: 'CartError', message: 'no' } }), { status: 500 }),
        withDocument(5, documentOf({ exception: { data: { chain: [{ message: 'ÄRGER über\0alles' }] } } })),
      ]),
    );

    const searched = Object.fromEntries(
      Object.entries({ exception: ['message'], logs: ['message'], dump: ['data'], database: ['sql'] }).map(
        ([panel, fields]) => [panel, { fields, facts: [] }],
      ),
    );
    it('finds what was thrown, logged and asked of the database, newest first, in any case, and where', async () => {
      const found = await storage.find({ searched, text: 'CART', sort: 'url', limit: 10, offset: 0 });
      expect(found.rows.map(({ token }) => token)).to.deep.equal(['000004', '000002', '000001']);
      expect(found).to.include({ total: 3, totalIsExact: true });
      expect(found.looked).to.deep.include({ count: 5, all: true });
      expect(found.looked?.found['000002']).to.deep.equal({
        panel: 'database',
        before: 'select * from ',
        text: 'cart',
        after: 's',
      });
    });

    for (const [text, expected] of [
      ['cart "88231"', ['000001']],
      ['is\n100%_', ['000001']],
      ['\\o/', ['000001']],
      ['%', ['000001']],
      ['ÄRGER über\0ALLES', ['000005']],
      ['panels', []],
      ["'; drop table", []],
    ] as const)
      it(`takes ${JSON.stringify(text)} as it is`, async () => {
        expect(await tokens({ text, searched })).to.deep.equal(expected);
      });

    it('looks only among what matches all else', async () => {
      const found = await storage.find({ searched, text: 'cart', status: 500, limit: 10, offset: 0 });
      expect(found.rows.map(({ token }) => token)).to.deep.equal(['000004']);
      expect(found.looked).to.deep.include({ count: 1, all: true });
    });

    it('ends with a full page, and says that there may be more', async () => {
      await storage.write(
        Array.from({ length: 600 }, (_, i) =>
          withDocument(1000 + i, documentOf({ dump: { data: { data: 'kettle' } } })),
        ),
      );
      const first = await storage.find({ searched, text: 'kettle', limit: 5, offset: 0 });
      expect(first.rows.map(({ token }) => token)[0]).to.equal((1599).toString(16).padStart(6, '0'));
      expect(first.total).to.be.above(5);
      const oldest = first.looked?.oldest ?? 0;
      const older = await storage.find({
        searched,
        text: 'kettle',
        until: oldest + 1,
        limit: 1000,
        offset: 0,
      });
      expect(older.looked?.count).to.be.within(1, 605);
      const beyond = await storage.find({ searched, text: 'kettle', limit: 5, offset: 598 });
      expect(beyond.rows).to.have.length(2);
      expect(beyond).to.include({ total: 600, totalIsExact: true });
    });
  });

  describe('beside a list', () => {
    it('knows what is pinned', async () => {
      await storage.write([1, 2, 3].map((number) => profileOf(number)));
      await storage.amend('000001', 'pin', true);
      await storage.amend('000002', 'pin', true);
      await storage.amend('000002', 'pin', null);
      expect((await storage.find({ limit: 9, offset: 0 })).pinned).to.deep.equal(['000001']);
      expect(await tokens({ pinned: true })).to.deep.equal(['000001']);
      expect(await storage.find({ limit: 1, offset: 0 })).to.not.have.property('pinned');
    });

    it('counts searches, and requests over time', async () => {
      await storage.write([
        profileOf(1, { status: 404, error: 'E: not found' }),
        profileOf(2, { status: 500 }),
        profileOf(31, { error: 'E: x' }),
        profileOf(39, { kind: 'error_page', parent: '00001f' }),
        profileOf(99),
      ]);
      const search = { limit: 1, offset: 0 };
      const { counts, histogram } = await storage.countsAndHistogram({
        counts: [search, { ...search, hasError: true }, { ...search, url: '/items/9', overMs: 1 }],
        histogram: { query: search, from: START, until: START + 40, parts: 4 },
      });
      expect(counts).to.deep.equal([4, 3, 1]);
      expect(histogram).to.deep.equal({
        parts: [
          { count: 2, errors: 1 },
          { count: 0, errors: 0 },
          { count: 0, errors: 0 },
          { count: 1, errors: 1 },
        ],
        since: START,
      });
      expect(await storage.countsAndHistogram({ counts: [] })).to.deep.equal({ counts: [], histogram: null });
    });

    it('counts no further than it needs to', async () => {
      await storage.write(Array.from({ length: 2100 }, (_, number) => profileOf(number)));
      expect((await storage.countsAndHistogram({ counts: [{ limit: 1, offset: 0 }] })).counts).to.deep.equal([
        2001,
      ]);
    });

    it('keeps settings', async () => {
      expect(await storage.readSetting('paused')).to.equal(null);
      await storage.writeSetting('paused', 'a');
      await storage.writeSetting('paused', 'b\0');
      expect(await storage.readSetting('paused')).to.match(/^b.$/);
      await storage.writeSetting('paused', null);
      expect(await storage.readSetting('paused')).to.equal(null);
    });
  });

  describe('clearing', () => {
    it('leaves what is pinned, with its error page and its pin', async () => {
      const now = Date.now();
      await storage.write([
        profileOf(1, { startedAt: now }),
        profileOf(2, { startedAt: now }),
        profileOf(3, { startedAt: now, kind: 'error_page', parent: '000002' }),
        profileOf(4, { startedAt: now - 5 * 3_600_000 }),
        profileOf(5, { startedAt: now - 5 * 3_600_000 }),
        profileOf(6),
        profileOf(7, { startedAt: now, kind: 'profiler' }),
      ]);
      for (const token of ['000002', '000005', '000006']) await storage.amend(token, 'pin', true);
      await storage.amend('000001', 'timing', 1);
      expect(await storage.clear()).to.equal(3);
      expect(await tokens({ kinds: ['request', 'error_page', 'profiler'] })).to.have.members([
        '000002',
        '000003',
        '000005',
        '000006',
      ]);
      expect((await storage.read('000005'))?.amendments).to.deep.equal({ pin: true });
      await storage.write([profileOf(1, { startedAt: now })]);
      expect((await storage.read('000001'))?.amendments).to.deep.equal({});
    });

    it('leaves nothing where nothing is pinned, and room for what comes', async () => {
      await storage.write(Array.from({ length: 700 }, (_, i) => profileOf(i, { startedAt: Date.now() - i })));
      expect(await storage.clear()).to.equal(700);
      expect(await storage.clear()).to.equal(0);
      await storage.write([profileOf(1, { startedAt: Date.now() })]);
      expect(await tokens({})).to.deep.equal(['000001']);
    });
  });

  describe('purging', () => {
    it('keeps what is pinned, whatever its age, and counts it apart', async () => {
      const now = Date.now();
      const at = (number: number, hours: number): QueuedProfile =>
        profileOf(number, { startedAt: now - hours * 3_600_000, durationMs: 1, route: null });
      await storage.write([at(1, 90), at(2, 90), at(3, 2), at(4, 1), at(5, 0)]);
      await storage.amend('000001', 'pin', true);
      await storage.amend('000003', 'pin', true);
      const limits = {
        ...everything,
        olderThan: now - 24 * 3_600_000,
        count: 1,
        keepExceptions: { olderThan: now - 48 * 3_600_000, count: 100 },
      };
      for (let round = 0; round < 3; round++) await storage.purge(limits);
      expect(await tokens({})).to.include.members(['000005', '000003', '000001']);
      await storage.amend('000001', 'pin', null);
      for (let round = 0; round < 3; round++) await storage.purge(limits);
      expect(await tokens({}))
        .to.include.members(['000005', '000003'])
        .and.not.include('000001');
    });

    it('deletes by age, with what is beside', async () => {
      await storage.write([profileOf(1), profileOf(2), profileOf(3)]);
      await storage.amend('000001', 'pin', true);
      expect(await storage.purge({ ...everything, olderThan: START + 2 })).to.equal(1);
      expect(await tokens({})).to.deep.equal(['000003', '000002']);
      await storage.write([profileOf(1)]);
      expect((await storage.read('000001'))?.amendments).to.deep.equal({});
    });

    it('deletes children with their parents', async () => {
      await storage.write([
        profileOf(1),
        profileOf(2, { kind: 'error_page', parent: '000001', startedAt: START + 900 }),
        profileOf(3),
      ]);
      expect(await storage.purge({ ...everything, count: 1 })).to.equal(2);
      expect(await storage.read('000002')).to.equal(null);
      expect(await tokens({})).to.deep.equal(['000003']);
    });

    it('keeps the newest requests and, counted apart, the newest pages of the profiler', async () => {
      const pages = [11, 12, 13].map((number) => profileOf(number, { kind: 'profiler' }));
      await storage.write([...[1, 2, 3].map((number) => profileOf(number)), ...pages]);
      expect(await storage.purge({ ...everything, count: 2, profilerCount: 1 })).to.equal(3);
      expect(await tokens({ kinds: ['request', 'profiler'] })).to.deep.equal(['00000d', '000003', '000002']);
    });

    it('keeps the newest documents within the bytes', async () => {
      await storage.write([1, 2, 3].map((number) => profileOf(number, { bytes: 1000 })));
      expect(await storage.purge({ ...everything, bytes: 3000 })).to.equal(0);
      expect(await storage.purge({ ...everything, bytes: 2500 })).to.equal(1);
      expect(await tokens({})).to.deep.equal(['000003', '000002']);
    });

    it('deletes more than one step of them', async () => {
      await storage.write(Array.from({ length: 1203 }, (_, number) => profileOf(number)));
      expect(await storage.purge({ ...everything, count: 3 })).to.equal(1200);
      expect((await storage.find({ limit: 1, offset: 0 })).total).to.equal(3);
    });
  });
}
