/** What every store must do; run against files, memory and PostgreSQL. */
import { expect } from 'chai';
import { findText } from '../../app/profiler/store/find-text.ts';
import type { FindResult, ProfileQuery } from '../../app/profiler/store/storage.ts';
import type { Row, Store, StoreItem, StoreLimits } from '../../app/profiler/store/store.ts';
import { profileIndex } from '../support/profile-index.ts';
import { until } from '../support/waiting.ts';

const START = 1_700_000_000_000;
const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** A record whose token is `number` in hexadecimal; younger with a higher number. */
export function itemOf(number: number, changes: Partial<Row> = {}, text = 'x'): StoreItem {
  const token = number.toString(16).padStart(6, '0');
  const document = JSON.stringify({ token, text });
  const row = profileIndex({
    token,
    url: `/items/${number}`,
    route: '/items/:id',
    startedAt: START + number,
    durationMs: number + 0.5,
    queries: number,
    bytes: Buffer.byteLength(document),
    ...changes,
  });
  return { row, text: document };
}

/** Where a test looks for text. */
const SEARCHED = Object.fromEntries(
  Object.entries({ exception: ['message'], logs: ['message'], dump: ['data'], database: ['sql'] }).map(
    ([panel, fields]) => [panel, { fields, facts: [] }],
  ),
);

/** Limits that nothing reaches. */
export const NO_LIMITS: StoreLimits = {
  maxAgeMs: 1e15,
  count: 1e6,
  bytes: 1e12,
  profilerCount: 1e6,
  summaryCount: 1e6,
  summaryBytes: 1e12,
  exceptions: { maxAgeMs: 1e15, count: 1e6, bytes: 1e12 },
};

export const NO_EXCEPTIONS: StoreLimits['exceptions'] = { maxAgeMs: 0, count: 0, bytes: 0 };

export interface StoreSubject {
  /** Opens a store on a place; those that are opened before the next test begins share it. */
  open(): Promise<Store>;
  /** Empties the place. */
  empty(): Promise<void>;
}

/** Stores all, and resolves when it is stored; rejects if one is dropped. */
export function stored(store: Store, items: readonly StoreItem[]): Promise<(string | null)[]> {
  return Promise.all(
    items.map(
      (item) =>
        new Promise<string | null>((resolve) => {
          store.add([{ ...item, settled: resolve }]);
        }),
    ),
  );
}

export function describeStoreContract(subject: StoreSubject): void {
  let store: Store;

  beforeEach(async () => {
    store = await subject.open();
  });
  afterEach(async () => {
    await store.close();
    await subject.empty();
  });

  const find = (query: Partial<ProfileQuery> = {}): Promise<FindResult> =>
    store.find({ limit: 100, offset: 0, ...query }, (record, wanted) => findText(record, wanted, SEARCHED));

  async function tokens(query: Partial<ProfileQuery> = {}): Promise<string[]> {
    return (await find(query)).rows.map(({ token }) => token);
  }

  async function rowOf(token: string): Promise<Row | undefined> {
    return (await find({ token, limit: 1 })).rows[0];
  }

  it('gives back what was written', async () => {
    const profile = itemOf(1, {
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
    await stored(store, [profile]);
    expect(await store.read('000001')).to.deep.equal({
      row: profile.row,
      text: profile.text,
      amendments: {},
      pinned: false,
    });
    expect((await store.find({ limit: 1, offset: 0 })).rows).to.deep.equal([profile.row]);
  });

  it('gives null for an unknown token, whatever it looks like', async () => {
    for (const token of ['000002', '', "'; drop table x", '\0', '\ud800']) {
      expect(await store.read(token)).to.equal(null);
    }
  });

  it('keeps values that are empty: no status, no duration, no route', async () => {
    const profile = itemOf(3, {
      status: null,
      durationMs: null,
      route: null,
      origin: null,
      state: 'running',
    });
    await stored(store, [profile]);
    expect(await rowOf('000003')).to.deep.equal(profile.row);
  });

  it('replaces a running profile by the final one of the same request, never the other way', async () => {
    await stored(store, [itemOf(4, { state: 'running', status: null }, 'running')]);
    await stored(store, [itemOf(4, {}, 'final')]);
    await stored(store, [itemOf(4, { state: 'running', status: null }, 'late')]);
    expect((await rowOf('000004'))?.state).to.equal('final');
    expect((await store.read('000004'))?.text).to.contain('"final"');
  });

  it('gives back a record that is its row alone, and finds a text in its address and its error', async () => {
    const alone = itemOf(5, { url: '/needles', summary: 'limit', bytes: 0 });
    const failed = itemOf(6, { error: 'Error: a needle broke', summary: 'limit', bytes: 0 });
    const items = [alone, failed, itemOf(7)].map((item, at) => (at < 2 ? { ...item, text: '' } : item));
    await stored(store, items);
    expect(await store.read('000005')).to.deep.include({ row: alone.row, text: '' });
    const { rows, looked } = await find({ text: 'needle' });
    expect(rows.map(({ token }) => token)).to.deep.equal(['000006', '000005']);
    expect(looked?.found['000006']?.before).to.equal('Error: a ');
  });

  it('stores hostile text', async () => {
    const hostile = `/a\0b\ud800c'";--\\%_\u2028\u{1f600}`;
    const profile = itemOf(
      8,
      { url: hostile, error: `E: \0\udfff`, clientAddress: '\0' },
      `\0\ud800${hostile}`,
    );
    await stored(store, [profile]);
    expect((await store.read('000008'))?.text).to.equal(profile.text);
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
      itemOf(
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
    await stored(store, profiles);
    for (const { row, text } of profiles) {
      expect(await store.read(row.token)).to.deep.equal({ row, text, amendments: {}, pinned: false });
      expect(await rowOf(row.token)).to.deep.equal(row);
    }
  });

  it('stores a document that is no JSON on one line, without harm to those beside it', async () => {
    const raw = ['{\n"a":\r\n"\t"}', '{"a":"\x01\x02\x03"}', '\n\\.\n'];
    const odd = raw.map((text, i) => ({ ...itemOf(i + 1), text }));
    await stored(store, [...odd, itemOf(9)]);
    for (const { row, text } of odd) expect((await store.read(row.token))?.text).to.equal(text);
    expect(await store.read('000009')).to.not.equal(null);
  });

  it('keeps what is put beside a profile', async () => {
    await stored(store, [itemOf(9, { state: 'running' })]);
    const timing = { paintMs: 12, text: '\0\ud800' };
    expect(await store.amend('000009', 'timing', JSON.stringify(timing))).to.equal(true);
    expect(await store.amend('000009', 'plan', '1')).to.equal(true);
    expect(await store.amend('000009', 'plan', '{"rows":2}')).to.equal(true);
    expect(await store.amend('00000a', 'plan', '1')).to.equal(false);
    await stored(store, [itemOf(9)]);
    expect((await store.read('000009'))?.amendments).to.deep.equal({ timing, plan: { rows: 2 } });
  });

  it('reads and finds what was added a moment ago', async () => {
    store.add([itemOf(1)]);
    expect((await store.read('000001'))?.text).to.equal(itemOf(1).text);
    expect(await tokens()).to.deep.equal(['000001']);
    expect(await store.amend('000001', 'late', '1')).to.equal(true);
    expect((await store.read('000001'))?.amendments).to.deep.equal({ late: 1 });
  });

  it('says of each item whether it is stored', async () => {
    const items = Array.from({ length: 300 }, (_, number) => itemOf(number));
    expect(new Set(await stored(store, items))).to.deep.equal(new Set([null]));
    expect(await stored(store, [itemOf(1, { process: 'web.2 12' })])).to.deep.equal(['token in use']);
    expect(store.state).to.include({ pending: 0, pendingBytes: 0, failing: false });
    expect((await store.read('000001'))?.row.process).to.equal(itemOf(1).row.process);
  });

  it('tells another process of the store what it does, within a second', async () => {
    const other = await subject.open();
    try {
      await stored(store, [itemOf(1), itemOf(2)]);
      await store.amend('000001', 'late', '1');
      await store.label('000001', { findings: 1, mark: 'N+1', marks: [{ label: 'N+1', severity: 'bad' }] });
      await store.keep('000002', true);
      await until(async () => (await other.read('000001'))?.row.findings === 1, 'the label is seen', 1500);
      expect((await other.read('000001'))?.amendments).to.deep.equal({ late: 1 });
      const { rows, pinned } = await other.find({ limit: 9, offset: 0 });
      expect([rows.map(({ token, mark }) => [token, mark]), pinned]).to.deep.equal([
        [
          ['000002', null],
          ['000001', 'N+1'],
        ],
        ['000002'],
      ]);
      await other.clear();
      await until(async () => (await find()).total === 1, 'what was cleared is gone', 1500);
    } finally {
      await other.close();
    }
  });

  it('finds records without labels, labels them, and forgets the labels of a version that is replaced', async () => {
    const unlabelled = { findings: null, mark: null, marks: [] };
    await stored(store, [itemOf(1, unlabelled), itemOf(2), itemOf(3, { ...unlabelled, state: 'running' })]);
    expect(await tokens({ isLabelled: false })).to.deep.equal(['000001']);
    const labels = { findings: 2, mark: 'slow', marks: [{ label: 'slow', severity: 'warn' as const }] };
    await store.label('000001', labels);
    expect(await rowOf('000001')).to.deep.include(labels);
    expect(await tokens({ isLabelled: false })).to.deep.equal([]);
    expect(await tokens({ mark: 'SLOW' })).to.deep.equal(['000001']);
    await store.label('0000ff', labels);
    expect(await rowOf('0000ff')).to.equal(undefined);
    await stored(store, [itemOf(1, unlabelled)]);
    expect(await rowOf('000001')).to.deep.include(unlabelled);
  });

  it('gives all rows since a moment, newest first', async () => {
    await stored(
      store,
      Array.from({ length: 12 }, (_, number) => itemOf(number, number % 2 === 0 ? {} : { kind: 'profiler' })),
    );
    const seen: string[] = [];
    for await (const batch of store.rows(START + 9)) seen.push(...batch.map(({ token }) => token));
    expect(seen).to.deep.equal(['00000b', '00000a', '000009']);
  });

  it('shares settings, and lets one process claim one', async () => {
    const other = await subject.open();
    try {
      expect(await store.setting('paused')).to.equal(null);
      expect(await store.setting('paused', 'a')).to.equal('a');
      expect(await other.setting('paused', 'b', { onlyIfAbsent: true })).to.equal('a');
      expect(await other.setting('paused', 'b')).to.equal('b');
      expect(await store.setting('paused')).to.equal('b');
      expect(await store.setting('paused', null)).to.equal(null);
      expect(await other.setting('paused')).to.equal(null);
      const claims = await Promise.all([
        store.setting('tokens-0ab', 'first', { onlyIfAbsent: true }),
        other.setting('tokens-0ab', 'second', { onlyIfAbsent: true }),
      ]);
      expect(new Set(claims).size).to.equal(1);
    } finally {
      await other.close();
    }
  });

  describe('finding', () => {
    beforeEach(() =>
      stored(store, [
        itemOf(1, {
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
        itemOf(2, { method: 'GET', status: 503, url: '/shop/1000_off', route: null, durationMs: null }),
        itemOf(3, {
          method: 'PUT',
          error: 'TypeError: x',
          process: 'web.2 12',
          url: '/b\\ack',
          dest: 'style',
          findings: 1,
          marks: [{ label: 'exception', severity: 'bad' }],
        }),
        itemOf(4, { kind: 'profiler', url: '/_profiler/' }),
        itemOf(5, { kind: 'error_page', parent: '000002' }),
        itemOf(6, { status: 404, url: '/shop/z', traceId: TRACE, callerSpan: '000002a1b2c3d4e5' }),
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
      ['by status', { status: [{ from: 503, to: 503 }] }, ['000002']],
      ['by class of status', { status: [{ from: 400, to: 499 }] }, ['000006', '000001']],
      [
        'by several statuses',
        {
          status: [
            { from: 404, to: 404 },
            { from: 500, to: 599 },
          ],
        },
        ['000006', '000002', '000001'],
      ],
      ['by several methods', { method: 'post,Put' }, ['000003', '000001']],
      ['shorter than', { underMs: 3.5 }, ['000001']],
      ['with fewer queries', { fewerQueries: 3 }, ['000002', '000001']],
      [
        'with neither of two',
        { not: [{ status: [{ from: 404, to: 404 }] }, { process: 'web.2 12' }] },
        ['000002'],
      ],
      ['without assets', { isAsset: false }, ['000006', '000002', '000001']],
      ['assets alone', { isAsset: true }, ['000003']],
      ['by part of the URL in any case', { url: 'SHOP/1' }, ['000002', '000001']],
      ['with % meaning itself', { url: '0%' }, ['000001']],
      ['with _ meaning itself', { url: '%_' }, ['000001']],
      ['with \\ meaning itself', { url: '\\a' }, ['000003']],
      ['from, inclusive', { from: START + 3 }, ['000006', '000003']],
      ['until, exclusive', { until: START + 3 }, ['000002', '000001']],
      ['that had not ended', { endsAfter: START + 6 }, ['000006', '000003', '000002']],
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
      ['by route', { route: '/items/:id', status: [{ from: 404, to: 404 }] }, ['000006', '000001']],
      [
        'by several',
        { status: [{ from: 400, to: 499 }], url: 'shop', hasError: false, until: START + 5 },
        ['000001'],
      ],
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

    it('pages with the exact total', async () => {
      const page = await store.find({ limit: 2, offset: 1 });
      expect(page.total).to.equal(4);
      expect(page.rows.map(({ token }) => token)).to.deep.equal(['000003', '000002']);
      const beyond = await store.find({ limit: 2, offset: 9 });
      expect(beyond).to.deep.equal({ rows: [], total: 4, totalIsExact: true });
    });
  });

  describe('searching for text', () => {
    const documentOf = (panels: Record<string, unknown>, more: object = {}): string =>
      JSON.stringify({ url: '/', panels, ...more });
    const withDocument = (number: number, text: string, changes: Partial<Row> = {}): StoreItem => ({
      ...itemOf(number, changes),
      text,
    });

    beforeEach(() =>
      stored(store, [
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

    it('finds what was thrown, logged and asked of the database, newest first, in any case, and where', async () => {
      const found = await find({ text: 'CART', sort: 'url', limit: 10, offset: 0 });
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
        expect(await tokens({ text })).to.deep.equal(expected);
      });

    it('looks only among what matches all else', async () => {
      const found = await find({ text: 'cart', status: [{ from: 500, to: 500 }], limit: 10, offset: 0 });
      expect(found.rows.map(({ token }) => token)).to.deep.equal(['000004']);
      expect(found.looked).to.deep.include({ count: 1, all: true });
    });

    it('ends with a full page, and says that there may be more', async () => {
      await stored(
        store,
        Array.from({ length: 600 }, (_, i) =>
          withDocument(1000 + i, documentOf({ dump: { data: { data: 'kettle' } } })),
        ),
      );
      const first = await find({ text: 'kettle', limit: 5, offset: 0 });
      expect(first.rows.map(({ token }) => token)[0]).to.equal((1599).toString(16).padStart(6, '0'));
      expect(first.total).to.be.above(5);
      const oldest = first.looked?.oldest ?? 0;
      const older = await find({
        text: 'kettle',
        until: oldest + 1,
        limit: 1000,
        offset: 0,
      });
      expect(older.looked?.count).to.be.within(1, 605);
      const beyond = await find({ text: 'kettle', limit: 5, offset: 598 });
      expect(beyond.rows).to.have.length(2);
      expect(beyond).to.include({ total: 600, totalIsExact: true });
    });
  });

  describe('beside a list', () => {
    it('knows what is pinned', async () => {
      await stored(
        store,
        [1, 2, 3].map((number) => itemOf(number)),
      );
      expect(await store.keep('000001', true)).to.equal(true);
      await store.keep('000002', true);
      await store.keep('000002', false);
      expect(await store.keep('0000ff', true)).to.equal(false);
      expect((await store.read('000001'))?.pinned).to.equal(true);
      expect((await find({ limit: 9, offset: 0 })).pinned).to.deep.equal(['000001']);
      expect(await tokens({ pinned: true })).to.deep.equal(['000001']);
      expect(await find({ limit: 1, offset: 0 })).to.not.have.property('pinned');
    });
  });

  describe('clearing', () => {
    it('leaves what is pinned, with its error page and its pin', async () => {
      const now = Date.now();
      await stored(store, [
        itemOf(1, { startedAt: now }),
        itemOf(2, { startedAt: now }),
        itemOf(3, { startedAt: now, kind: 'error_page', parent: '000002' }),
        itemOf(4, { startedAt: now - 5 * 3_600_000 }),
        itemOf(5, { startedAt: now - 5 * 3_600_000 }),
        itemOf(6),
        itemOf(7, { startedAt: now, kind: 'profiler' }),
      ]);
      for (const token of ['000002', '000005', '000006']) await store.keep(token, true);
      await store.amend('000001', 'timing', '1');
      expect(await store.clear()).to.equal(3);
      expect(await tokens({ kinds: ['request', 'error_page', 'profiler'] })).to.have.members([
        '000002',
        '000003',
        '000005',
        '000006',
      ]);
      expect(await store.read('000005')).to.include({ pinned: true });
      expect(await store.read('000001')).to.equal(null);
      await stored(store, [itemOf(1, { startedAt: now })]);
      expect((await store.read('000001'))?.amendments).to.deep.equal({});
    });

    it('leaves nothing where nothing is pinned, and room for what comes', async () => {
      await stored(
        store,
        Array.from({ length: 700 }, (_, i) => itemOf(i, { startedAt: Date.now() - i })),
      );
      expect(await store.clear()).to.equal(700);
      expect(await store.clear()).to.equal(0);
      await stored(store, [itemOf(1, { startedAt: Date.now() })]);
      expect(await tokens({})).to.deep.equal(['000001']);
    });
  });

  it('deletes nothing that is within the limits', async () => {
    await stored(store, [itemOf(1), itemOf(2, { kind: 'profiler' }), itemOf(3, { error: 'Error: no' })]);
    expect(await store.purge(NO_LIMITS)).to.equal(0);
    expect(await tokens({ kinds: ['request', 'profiler'] })).to.have.length(3);
  });
}
