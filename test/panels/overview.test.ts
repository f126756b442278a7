import { expect } from 'chai';
import { load } from 'cheerio';
import type {} from '../../app/observe/layers/routing.ts';
import { recordError } from '../../app/observe/errors-seen.ts';
import { createPanels } from '../../app/panels/index.ts';
import { pageText } from '../../app/panels/shared/page-text.ts';
import { usualOf } from '../../app/panels/overview/usual.ts';
import { workOf } from '../../app/panels/overview/work.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { BesideProfile } from '../../app/profiler/panel.ts';
import type { ProfileIndex } from '../../app/profiler/store/profile-index.ts';
import {
  cacheCommand,
  call,
  lasting,
  layer,
  log,
  query,
  reading,
  view,
} from '../support/observed-samples.ts';
import { everyPanel } from '../support/every-page.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { profileIndex } from '../support/profile-index.ts';
import { until } from '../support/waiting.ts';

/** 1.2 s: a blocked event loop, a call that failed unnoticed, an N+1, a slow query, log lines between them. */
function addBadPage(context: Context): void {
  lasting(context, 1200);
  context.add('layer', layer({ name: 'helmet', startMs: 0.1, durationMs: 0.1, nextMs: 0.1 }));
  context.add('layer', layer({ name: 'session', startMs: 0.3, durationMs: 0.1, nextMs: 0.1 }));
  context.add('layer', layer({ name: 'show', kind: 'handler', pattern: '/orders/:id', method: 'GET', startMs: 1, durationMs: 2, nextMs: null, outcome: 'running' })); // prettier-ignore
  context.add('log', log({ message: 'page asked for', atMs: 1.5 }));
  context.add('call', call({ method: 'POST', url: 'http://mail.internal/send', status: 503, startMs: 100, durationMs: 80, connection: null })); // prettier-ignore
  context.add('log', log({ message: 'mail <b>not</b> sent', level: 'warn', atMs: 181 }));
  for (let i = 0; i < 20; i++)
    context.add('query', query({ sql: 'select * from lines where order_id = $1', bindings: [i], startMs: 200 + i * 10, durationMs: 9, waitMs: 0, caller: 'src/orders.ts:52' })); // prettier-ignore
  context.add('query', query({ sql: 'select pg_sleep($1)', bindings: [0.6], startMs: 450, durationMs: 600, waitMs: 0, caller: 'src/orders.ts:60' })); // prettier-ignore
  context.add('view', view({ name: 'orders/show', startMs: 1100, durationMs: 20 }));
  const interval = { name: 'prune', place: 'src/prune.ts:4' };
  const blocks = [{ startMs: 10, durationMs: 70, cpuMs: 70, interval }];
  context.add('runtime', { read: () => reading({ blocks, collections: [], concurrent: 1 }) });
}

describe('the overview panel', () => {
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);

  async function page(token: string, more = '') {
    const response = await fetch(`${server.address}/_profiler/${token}?panel=overview${more}`);
    expect(response.status).to.equal(200);
    return load(await response.text());
  }

  it('puts what failed or took long first, by its findings', async () => {
    const profile = await fixture.profileOf({ more: addBadPage, response: { headersAtMs: 1190 } });
    const work = workOf(profile, profile.findings);
    const worst = work?.rows.map(({ label, badges }) => [label, badges.map((badge) => badge.label).join()]);
    expect(worst?.map(([label]) => label)).to.include.members([
      'POST mail.internal/send',
      '20 × select … from lines',
      'event loop blocked by the timer prune',
    ]);
    expect(Object.fromEntries(worst ?? [])).to.include({ '20 × select … from lines': 'N+1' });
    // As the findings stand.
    const ranks = (work?.rows ?? []).map(({ badges }) =>
      profile.findings.findIndex(({ label }) => label === badges[0]?.label),
    );
    const found = ranks.filter((rank) => rank >= 0);
    expect(found)
      .to.deep.equal([...found].sort((a, b) => a - b))
      .and.have.length.above(2);
    expect(work?.bands).to.deep.equal([{ startMs: 10, durationMs: 70 }]);
  });

  it('says what differs from the last requests to its route, and nothing where nothing does', async () => {
    const profile = await fixture.profileOf({ url: '/orders?page=1&per_page=80', more: addBadPage });
    const row = (changes: Partial<ProfileIndex>): ProfileIndex =>
      profileIndex({ url: '/orders?page=1&per_page=20', process: profile.process, durationMs: 200, marks: [{ label: 'N+1', severity: 'bad' }], ...changes }); // prettier-ignore
    const beside = (recent: ProfileIndex[], count = 999): BesideProfile => ({
      findings: [],
      checked: [],
      work: [],
      started: [],
      called: new Map(),
      around: null,
      usual: {
        percentiles: { count, p50Ms: 212, p95Ms: 388, queries: [21, 21], blockedMs: [0, 3], responseBytes: [18_402, 20_000] }, // prettier-ignore
        recent,
      },
      overlapping: [],
      before: [],
      tableWriters: [],
      writers: new Map(),
      brokenBefore: [],
      comparedAsText: null,
      *codeOf() {
        yield undefined;
        return [];
      },
    });
    const usual = usualOf(profile, beside(Array.from({ length: 10 }, () => row({}))));
    const measures = usual?.measures.map(({ label, value, p50, p95, tone }) => [
      label,
      value,
      p50,
      p95,
      tone,
    ]);
    expect(measures).to.deep.equal([
      ['Time', 1200, 212, 388, 'warn'],
      ['Queries', 21, 21, 21, 'plain'],
      ['Blocked', 70, 0, 3, 'warn'],
      ['Response', 18_402, 18_402, 20_000, 'plain'],
    ]);
    const few = usualOf(profile, beside([], 5));
    expect(few?.measures.map(({ p95 }) => p95)).to.deep.equal([null, null, null, null]);
    const texts = usual?.differences.map(({ text }) => text) ?? [];
    expect(texts).to.include('Parameter “per_page”: “80”; 10 of 10 had “20”.');
    expect(texts.join('\n')).to.not.contain('“page”');
    const other = Array.from({ length: 10 }, () => row({ status: 404, process: 'web.2', url: '/orders' }));
    const elsewhere = usualOf(profile, beside(other))?.differences.map(({ text }) => text);
    expect(elsewhere).to.include.members([
      'Status 200; 10 of 10 returned 404.',
      'Parameter “page”: “1”; 10 of 10 did not have it.',
      `The first request in process ${profile.process}.`,
    ]);
    expect(usualOf(profile, beside([]))?.differences).to.deep.equal([]);
    expect(usualOf(profile, undefined)).to.equal(null);
  });

  it('shows it all on one page, with each finding’s fix and evidence', async () => {
    for (let i = 0; i < 6; i++)
      await fixture.record({
        url: '/orders/1?tab=items',
        more: (context) => {
          Object.defineProperty(lasting(context, 40), 'startedAt', { value: Date.now() - 1000 });
          context.add('route', { method: 'GET', pattern: '/usual/:id', handler: 'show', source: null, params: { id: '1' } }); // prettier-ignore
        },
      });
    const profile = await fixture.profileOf({
      url: '/orders/7?tab=history',
      more: (context) => {
        addBadPage(context);
        context.add('route', { method: 'GET', pattern: '/usual/:id', handler: 'show', source: null, params: { id: '7' } }); // prettier-ignore
      },
    });
    const $ = await page(profile.token);
    expect($('.panels a').first().text()).to.match(/^\s*Overview/);
    expect($('.panels [aria-current]').text()).to.contain(String(profile.findings.length));
    expect($('#wrong .fi')).to.have.length(profile.findings.length);
    expect($('#wrong .fi').first().find('details.fix').attr('open')).to.not.equal(undefined);
    expect($('#wrong details[open]')).to.have.length(1);
    const nPlusOne = $('#wrong .fi').filter((_i, item) => $(item).find('.badge').text() === 'N+1');
    expect(nPlusOne.text()).to.contain('src/orders.ts:52').and.contain('whereIn');
    expect(nPlusOne.find('a[href*="panel=database"][href$="#g1"]')).to.have.length(1);
    // The head of the page is the request's line; what is below has its place in the column.
    expect($('.subject .found, .subject .strip')).to.have.length(0);
    // The bar and its legend, which links to the kind's rows.
    const parts = $('#time .split rect')
      .toArray()
      .map((part) => $(part).attr('class'));
    expect(parts).to.include.members(['k-db', 'k-out', 'k-app']);
    for (const part of new Set(parts))
      expect($(`#time .legend .l-${part?.slice(2) ?? ''} a`)).to.have.length(1);
    expect($('#time .legend .l-log').text()).to.contain('Log lines').and.contain('2');
    expect($('#time .l-db a').attr('href')).to.equal('?panel=timeline&shown=1&queries=1');
    expect($('#time thead th').first().text()).to.equal('Failed and slow');
    expect($('#usual').text())
      .to.contain('last 6')
      .and.contain('Parameter “tab”: “history”; 6 of 6 had “items”.');
    expect($('#received').text()).to.contain('tab').and.contain('history').and.contain('id');
    expect($('#sent').text())
      .to.contain('200 OK')
      .and.contain('text/html, 18.0 KiB')
      .and.contain('Order 4712')
      .and.not.contain('<title>');
    expect($('#asked li').first().text()).to.contain('POST mail.internal/send').and.contain('503, 80.0 ms');
    expect($('#asked').text()).to.match(/20 ×\s+N\+1\s+select \* from lines where order_id = 0/);
    expect($('#asked').text()).to.contain('mail <b>not</b> sent');
    const ids = $('[id]')
      .toArray()
      .map((element) => $(element).attr('id'));
    expect(new Set(ids).size).to.equal(ids.length);
    const text = await (await fetch(`${server.address}/_profiler/${profile.token}.md?panel=overview`)).text();
    for (const title of [
      'Findings',
      'Where the time went',
      'Failed and slow',
      'Usual for this route',
      'Different this time',
      'Received',
      'Steps',
      'Sent',
    ])
      // prettier-ignore
      expect(text).to.contain(`### ${title}\n`);
    expect(text).to.match(/\| `Response` \| `18\.0 KiB` \| `18\.0 KiB` \|/).and.match(/\| `Time` \| `1\.20 s` \| `40\.0 ms` \|/); // prettier-ignore
  });

  it('says what was checked where nothing is wrong, and that nothing was on our own pages', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 3);
        context.add('query', query({ startMs: 1, durationMs: 1, waitMs: 0 }));
      },
    });
    const $ = await page(token);
    const said = $('#wrong .none p').first().text();
    expect(said).to.equal('No finding. The checks can’t tell whether the values below are right.');
    expect($('#wrong .checks').text()).to.contain('n plus one');
    // Time is not the question: no waterfall, but what was received, asked and sent.
    expect($('#time .split')).to.have.length(1);
    expect($('#time .wf')).to.have.length(0);
    expect($('#asked li')).to.have.length(1);
    const own = await fixture.profileOf({ kind: 'profiler' });
    expect((await page(own.token))('#wrong .none p').first().text()).to.equal(
      'The profiler’s own pages are not checked.',
    );
  });

  it('shows request headers that no browser or proxy sends by itself', async () => {
    const { token } = await fixture.profileOf({
      headers: ['Host', 'a.test', 'User-Agent', 'curl', 'X-Card', 'c1', 'X-Forwarded-For', '10.0.0.1', 'X-Request-Id', 'r1'], // prettier-ignore
    });
    const received = (await page(token))('#received').text();
    expect(received).to.contain('x-card: c1').and.contain('4 others').and.not.contain('10.0.0.1');
  });

  it('expects no parser of Express before what is mounted and reads bodies by itself', async () => {
    const received = async (pattern: string) => {
      const { token } = await fixture.profileOf({
        method: 'POST',
        url: '/graphql',
        more: (context) => {
          lasting(context, 3);
          context.add('body', { bytes: 2, contentType: 'application/json', parsed: undefined, files: [], preview: Buffer.from('{}'), truncated: false }); // prettier-ignore
          context.add('layer', layer({ name: 'yoga', pattern, startMs: 1, durationMs: 1, nextMs: null, outcome: 'running' })); // prettier-ignore
          context.add('route', { method: 'POST', pattern, handler: 'yoga', source: null, params: {} });
        },
      });
      return (await page(token))('#received').text();
    };
    expect(await received('/graphql'))
      .to.contain('POST /graphql')
      .and.not.contain('not parsed');
    expect(await received('/')).to.contain('not parsed by Express middleware');
  });

  it('shows calls of a library as steps, with the headers that decide', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        context.add('call', call({ caller: 'node_modules/got/dist/request.js:7', requestHeaders: ['x-customer', 'c-204', 'User-Agent', 'got', 'Accept', '*/*', 'traceparent', '00-1', 'Authorization', 'Bearer abc'] })); // prettier-ignore
      },
    });
    const asked = (await page(token))('#asked').text();
    expect(asked)
      .to.contain('x-customer: c-204')
      .and.match(/authorization: [^·]*masked/);
    expect(asked).to.not.match(/got|user-agent|accept|traceparent|abc/i);
  });

  it('marks the end of a long value that was cut', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        const args = [{ value: `{"name":"${'a'.repeat(200)}"}`, name: null }];
        context.add('cache', cacheCommand({ command: 'SET', asked: 0, hits: null, args }));
      },
    });
    expect((await page(token))('#asked').text()).to.match(/a…/);
  });

  it('shows what differs between runs of a step, and says what did not wait for the step above', async () => {
    const poll = (state: string, startMs: number) =>
      call({ url: 'http://jobs.test/1', caller: 'src/poll.ts:3', startMs, durationMs: 1, responseHeaders: ['content-type', 'application/json'], responseBody: { bytes: 20, preview: Buffer.from(JSON.stringify({ state })) } }); // prettier-ignore
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 40);
        ['queued', 'running', 'done'].forEach((state, at) => context.add('call', poll(state, 2 + at * 3)));
        context.add('query', query({ sql: 'select role from members where id = $1', bindings: [1], startMs: 20, durationMs: 5, waitMs: 0, caller: 'src/may.ts:2' })); // prettier-ignore
        context.add('query', query({ sql: 'update boards set title = $1', bindings: ['a'], startMs: 33, durationMs: 1, waitMs: 12.8, caller: 'src/boards.ts:9' })); // prettier-ignore
        [209, 165, 129].forEach((points, at) => context.add('query', query({ sql: 'update customers set points = $1 where id = $2', bindings: [points, 1], startMs: 35 + at, durationMs: 0.5, waitMs: 0, caller: 'src/award.ts:7' }))); // prettier-ignore
      },
    });
    const steps = (await page(token))('#asked li').toArray().map((item) => load(item).text().replace(/\s+/g, ' ')); // prettier-ignore
    expect(steps).to.have.length(4);
    expect(steps[0]).to.contain('3 ×').and.contain('{ state: "queued" }').and.contain('→ { state: "done" }');
    expect(steps[0]).not.to.contain('repeated');
    expect(steps[2]).to.contain('20.2 ms').and.contain('asked for before query 1 was answered');
    expect(steps[3])
      .to.contain('points = 209')
      .and.contain('other runs 165 · 129')
      .and.not.contain('asked for');
  });

  it('shows few runs in their order if something is written between them, and when a query was sent', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 40);
        [1, 2, 3].forEach((part, at) => {
          context.add('query', query({ sql: 'select stock from parts where id = $1', bindings: [part], startMs: 2 + at * 6, durationMs: 1, waitMs: at === 0 ? 1.5 : 0, caller: 'src/import.ts:27' })); // prettier-ignore
          context.add('query', query({ sql: 'update parts set stock = 0 where id = $1', bindings: [part], startMs: 4 + at * 6, durationMs: 1, waitMs: 0, caller: `src/import.ts:3${at}` })); // prettier-ignore
        });
        context.add('query', query({ sql: 'select 1', startMs: 30, durationMs: 5, waitMs: 0, caller: 'src/a.ts:1' })); // prettier-ignore
        context.add('query', query({ sql: 'select 2', startMs: 32, durationMs: 5, waitMs: 0, caller: 'src/a.ts:2' })); // prettier-ignore
      },
    });
    const asked = (await page(token))('#asked');
    expect(asked.find('li')).to.have.length(8);
    expect(asked.text()).to.contain('waited 1.5 ms').and.not.contain('asked for before');
  });

  it('counts the calls of one middleware that follow each other', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        ['hook', 'hook', 'hook', 'parser', 'hook'].forEach((name, startMs) => {
          context.add('layer', layer({ name, startMs, durationMs: 0.1, nextMs: 0.1, outcome: 'next' }));
        });
        context.add('layer', layer({ name: 'show', kind: 'handler', method: 'GET', startMs: 6, durationMs: 1, nextMs: null, outcome: 'running' })); // prettier-ignore
        context.add('route', { pattern: '/', method: 'GET', params: {}, handler: 'show', source: null });
      },
    });
    expect((await page(token))('#received').text()).to.contain('hook × 3 → parser → hook');
  });

  it('shows a command of Redis when it was made, not before, if it waited for the connection', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 40);
        context.add('cache', cacheCommand({ command: 'SET', asked: 0, hits: null, startMs: 6, durationMs: 10, waitMs: 5 })); // prettier-ignore
        context.add('cache', cacheCommand({ command: 'EVALSHA', key: 'k', args: ['b1', '1', 'k', 'v'].map((value) => ({ name: 'k', value })), asked: 0, hits: null, startMs: 20, durationMs: 1 })); // prettier-ignore
      },
    });
    const asked = (await page(token))('#asked').text();
    expect(asked).to.contain('Timeline6.0 ms').and.contain('EVALSHA b1 1 k v');
  });

  it('numbers queries as its figures count them, without those of a transaction', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 40);
        [
          'begin',
          'select 1',
          'commit',
          'begin',
          'update seats set sold = true where id = 7',
          'commit',
        ].forEach((sql, at) => {
          context.add('query', query({ sql, bindings: [], rows: at === 4 ? 0 : null, startMs: at, durationMs: 1, waitMs: 0 })); // prettier-ignore
        });
      },
    });
    const $ = await page(token);
    const labels = $('#asked')
      .text()
      .match(/transaction|query \d/g);
    expect(labels).to.deep.equal(['transaction', 'query 1', 'transaction', 'transaction', 'query 2', 'transaction']); // prettier-ignore
    expect($('body').text().replace(/\s+/g, ' ')).to.contain('Database × 26.0 ms15 %');
  });

  it('says of repeated steps which of them failed, which found nothing, and how the last one ended', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 40);
        [1, 2, 3].forEach((id) => {
          const sql = 'update seats set sold = true where id = $1 returning cents';
          context.add('query', query({ sql, bindings: [id], rows: id === 3 ? 0 : 1, found: id === 3 ? [] : [{ cents: id }], startMs: id, durationMs: 1, waitMs: 0, caller: 'src/a.ts:1' })); // prettier-ignore
        });
        [1, 2, 3].forEach((id) => {
          const sql = 'insert into notices (member) values ($1)';
          context.add('query', query({ sql, bindings: [id], rows: 1, error: id === 2 ? 'Duplicate entry' : null, startMs: 10 + id, durationMs: 1, waitMs: 0, caller: 'src/b.ts:1' })); // prettier-ignore
        });
        [0, 0, undefined].forEach((reply, at) => {
          context.add('cache', cacheCommand({ command: 'SET', key: 'lock', asked: 0, hits: null, ...(reply === undefined ? {} : { reply }), args: [{ name: 'lock', value: 'NX' }], length: 36, startMs: 20 + at, durationMs: 1, waitMs: 0 })); // prettier-ignore
        });
      },
    });
    const text = (await page(token))('#asked').text().replace(/\s+/g, ' ');
    expect(text).to.contain('query 1–3').and.contain('2 → { cents: 2 } · 3 (0 rows)');
    expect(text).to.contain('query 4–6').and.contain('2 (failed) · 3');
    expect(text).to.match(/1 failed.*values \(1\)/);
    expect(text)
      .to.contain('other runs (stored, 36 characters)')
      .and.match(/not stored in 2 of 3, 1\.0 ms each, last at 22\.0 ms/);
  });

  it('lists the runs that ended in another way than most, with their values and transaction', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 90);
        [1, 2, 3, 4, 5, 6, 7].forEach((id) => {
          const ran = { startMs: id * 10, durationMs: 1, waitMs: 0, transaction: `t${Math.ceil(id / 3)}`, instance: 'pg' }; // prettier-ignore
          const isOver = id === 5;
          context.add('query', query({ ...ran, sql: 'update holders set paid = paid + $1 where id = $2', bindings: [id * 1000, id], rows: isOver ? null : 1, error: isOver ? 'violates check constraint' : null, caller: 'src/a.ts:1' })); // prettier-ignore
          context.add('query', query({ ...ran, startMs: id * 10 + 2, sql: 'insert into seen (number) values ($1) on conflict do nothing', bindings: [`SB-${id}`], rows: id === 6 ? 0 : 1, caller: 'src/b.ts:1' })); // prettier-ignore
        });
      },
    });
    const asked = (await page(token))('#asked').text().replace(/\s+/g, ' ');
    expect(asked).to.contain('1 failed').and.contain('T1–T3');
    expect(asked).to.contain('other outcome 5000 where id = 5 (failed, T2)').and.contain('1 row in 6 of 7');
    expect(asked, 'no row')
      .to.contain("other outcome 'SB-6' (0 rows, T2)")
      .and.contain('violates check constraint');
  });

  it('lists none if no outcome is that of most', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 90);
        [1, 2, 3, 1, 2, 3, 2].forEach((rows, id) => {
          context.add('query', query({ sql: 'select * from lines where order_id = $1', bindings: [id], rows, startMs: id * 10, durationMs: 1, waitMs: 0, caller: 'src/a.ts:1' })); // prettier-ignore
        });
      },
    });
    const asked = (await page(token))('#asked').text().replace(/\s+/g, ' ');
    expect(asked).to.contain('1 row at first, 2 rows at last').and.not.contain('other outcome');
  });

  it('shows whole rows, and how many are left out', async () => {
    const row = (id: number) => ({ note: 'x'.repeat(60), kind: id, title: `${id}`.repeat(60), day: id });
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        context.add('query', query({ sql: `select * from stops where ${'a = 1 and '.repeat(23)}b = 2`, rows: 6, found: [1, 2, 3, 4, 5].map(row), startMs: 2, durationMs: 1, waitMs: 0 })); // prettier-ignore
      },
    });
    expect((await page(token))('#asked').text()).to.match(
      /→ \[\{ kind: 1, .*day: 1 \}, .*day: 3 \}\], each with \{ note: "x+" \} and 3 more rows/,
    );
    const { token: four } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        context.add('query', query({ sql: `select * from stops where ${'a = 1 and '.repeat(23)}b = 2`, rows: 4, found: [1, 2, 3, 4].map(row), startMs: 2, durationMs: 1, waitMs: 0 })); // prettier-ignore
      },
    });
    const text = (await page(four))('#asked').text();
    expect(text, 'a single row more').to.contain('day: 4 }]').and.not.contain('more row');
  });

  it('counts the items of a call’s response, and reads brackets in its address', async () => {
    const items = [1, 2, 3, 4, 5, 6].map((cents) => ({ zone: `E${cents}`, label: 'x'.repeat(20), cents }));
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 9);
        context.add('call', call({ method: 'GET', url: 'http://tariffs.test/v2?zone%5B%5D=E1', caller: 'src/tariff.ts:3', startMs: 2, durationMs: 1, responseHeaders: ['content-type', 'application/json'], responseBody: { bytes: 600, preview: Buffer.from(JSON.stringify({ items })) } })); // prettier-ignore
      },
    });
    const text = (await page(token))('#asked').text();
    expect(text).to.contain('tariffs.test/v2?zone[]=E1').and.contain('items: [6 items: { zone: "E1"');
    expect(text, 'one more than five').to.contain('cents: 6 }]');
  });

  it('shows a page as its text, however its tags are', async () => {
    const pages = [
      ['<!doctype html><head><title>Split</title><style>p{}</style></head><p title="a > b">Ann\n owes <b>33.34</b></p><!-- <i> -->', 'Split · Ann owes 33.34'],
      ['<p>1 < 2 &amp; 3</p><script>if (a < b) "</p>"</script ><p>end', '1 < 2 & 3 end'],
      ['<html><script>never closed', ''],
    ]; // prettier-ignore
    for (const [html = '', text] of pages) expect(pageText(html, 100), html).to.equal(text);
    expect(pageText('<p'.repeat(50_000), 10)).to.equal('');
    expect(pageText(`<p>${'<title>a'.repeat(20_000)}`, 10)).to.have.length(11);
  });

  it('marks a value that changed between received, asked and sent', async () => {
    const { token } = await fixture.profileOf({
      method: 'POST',
      url: '/cart/88231/lines',
      response: { headersAtMs: 8, rawHeaders: ['content-type', 'application/json'], preview: Buffer.from('{"lines":[{"quantity":1}]}') }, // prettier-ignore
      more: (context) => {
        context.add('body', { bytes: 40, contentType: 'application/json', parsed: { productId: 417, quantity: '1,200' }, files: [], preview: Buffer.from(''), truncated: false }); // prettier-ignore
        lasting(context, 9);
        context.add('query', query({ sql: 'insert into lines (product_id, quantity) values ($1, $2)', bindings: [417, 1], startMs: 2, durationMs: 1, waitMs: 0, caller: 'src/add.ts:24' })); // prettier-ignore
      },
    });
    const $ = await page(token);
    const marked = $('.steps u').toArray().map((part) => $(part).text()); // prettier-ignore
    expect(marked).to.deep.equal(['"1,200"', '1', '1']);
    expect($('#asked .was').text().trim()).to.equal('received as quantity: "1,200", a string');
    // The finding says it already.
    expect($('#wrong').text()).to.contain('quantity').and.contain('src/add.ts:24');
    expect($('#wrong .leads')).to.have.length(0);
    expect($('#sent .vl').last().text()).to.contain('[{ quantity: 1 }]');
  });

  it('marks a changed value by its placeholder, and says that there is no finding', async () => {
    const { token } = await fixture.profileOf({
      method: 'PATCH',
      url: '/devices/7',
      more: (context) => {
        context.add('body', { bytes: 40, contentType: 'application/json', parsed: { volume: 5, pin: '1234', cvv: '321', settings: {} }, files: [], preview: Buffer.from(''), truncated: false }); // prettier-ignore
        lasting(context, 9);
        context.add('query', query({ sql: 'update devices set brightness = $2, volume = $3, settings = $4 where id = $1', bindings: [7, 80, 30, '{"theme":"dark","notify":{"push":1}}'], startMs: 2, durationMs: 1, waitMs: 0 })); // prettier-ignore
      },
    });
    const $ = await page(token);
    expect($('#asked u').text()).to.equal('30');
    expect($('#asked').text()).to.contain('"push":1}}');
    expect($('#received .note').text()).to.equal('Masked values with the same number are equal.');
    expect($('#wrong h3').text().trim()).to.equal('Stands out');
    expect($('#wrong .leads').text()).to.contain('volume received as 5, bound as 30');
    expect($('#wrong .none p').first().text()).to.equal('No finding.');
    for (const end of ['.md', '.md?length=short']) {
      const text = await (await fetch(`${server.address}/_profiler/${token}${end}`)).text();
      expect(text, end).to.match(/## Stands out\n[^#]*bound as 30[^#]*No finding\./);
    }
  });

  it('has the whole text of the last write if there is no finding and its step is cut', async () => {
    const shortOf = async (names: readonly string[], after?: object): Promise<string> => {
      const sets = names.map((name) => `${name} = now()`).join(', ');
      const sql = `update devices set ${sets} where id = $1`;
      const { token } = await fixture.profileOf({
        method: 'PATCH',
        url: '/devices/7',
        more: (context) => {
          lasting(context, 9);
          context.add('query', query({ sql, bindings: [7], startMs: 2, durationMs: 1, waitMs: 0 }));
          if (after !== undefined)
            context.add('query', query({ ...after, startMs: 4, durationMs: 1, waitMs: 0 }));
        },
      });
      return (await fetch(`${server.address}/_profiler/${token}.md?length=short`)).text();
    };
    const columns = Array.from({ length: 20 }, (_of, at) => `measured_${at}`);
    expect(await shortOf(columns)).to.match(
      /No finding\.[^#]*The last write \(query 1\):\s+```sql\nupdate devices\nset measured_0/,
    );
    const note = { sql: `insert into changes (${columns.join(', ')}) values ($1)`, bindings: [1] };
    expect(await shortOf(columns, note), 'a note of it comes last').to.match(
      /A write \(query 1\):\s+```sql\nupdate devices[^#]*A write \(query 2\):\s+```sql\ninsert into changes/,
    );
    expect(await shortOf(columns.slice(0, 2)))
      .to.contain('No finding.')
      .and.not.contain('```sql');
  });

  it('says what became of the work that it started, also if that failed later', async () => {
    const { token } = await fixture.record({ more: (context) => lasting(context, 9) });
    const job = fixture.recorder.openWork('job', { label: 'JOB', name: 'stock/recount', parent: token });
    recordError(job, new Error('No reservation\nsecond line'), { origin: 'work' });
    fixture.recorder.finish(job);
    await until(async () => (await fixture.store.read(job.token)) !== null, 'the job is stored');
    const $ = await page(token);
    expect($('#started .badge').text()).to.equal('failed');
    expect($('#started').text()).to.contain('JOB stock/recount').and.contain('Error: No reservation');
    const own = await (await fetch(`${server.address}/_profiler/${job.token}.md`)).text();
    expect(own)
      .to.contain('# `JOB stock/recount`: failed')
      .and.not.match(/no response/i);
    expect($('#started a').first().attr('href')).to.equal(`/_profiler/${job.token}`);
    expect($('#wrong .none').text()).to.contain('Work that this request started failed.');
    const text = await (await fetch(`${server.address}/_profiler/${token}.md?length=short`)).text();
    expect(text).to.contain('## Started by this request').and.contain('No reservation');
    const whole = await (await fetch(`${server.address}/_profiler/${token}.md`)).text();
    expect(whole).to.contain('## Started by this request').and.contain('## Sent');
    expect(whole).to.contain('Work that this request started failed.');
    const list = load(await (await fetch(`${server.address}/_profiler/`)).text());
    expect(list(`#r-${token} a[href="/_profiler/${job.token}"]`).text()).to.equal('job failed');
  });

  it('begins a refusal with who sent it, and the query that found nothing', async () => {
    const { token } = await fixture.profileOf({
      response: { status: 403, sentFrom: 'src/refuse.ts:9', headersAtMs: 2, rawHeaders: ['content-type', 'application/json'], preview: Buffer.from('{"error":"admins only"}') }, // prettier-ignore
      more: (context) => {
        lasting(context, 3);
        context.add('query', query({ sql: 'select * from admins where id = 1', rows: 0, startMs: 1, durationMs: 1, waitMs: 0 })); // prettier-ignore
        context.add('layer', layer({ name: 'requireAdmin', source: 'src/auth.ts:7', startMs: 1, durationMs: 1, nextMs: null, outcome: 'running' })); // prettier-ignore
      },
    });
    const $ = await page(token);
    expect($('#wrong .leads').text())
      .to.contain('403')
      .and.contain('{ error: "admins only" }')
      .and.contain('sent by requireAdmin; query 1 found no row')
      .and.contain('src/refuse.ts:9');
    // The line that mounts it.
    expect($('#received, #sent').text()).to.contain('src/auth.ts:7').and.contain('src/refuse.ts:9');
    expect($('#wrong .none').text()).to.contain('No finding. The checks');
  });

  it('names the error that an error handler of the application answered, and its line', async () => {
    const { token } = await fixture.profileOf({
      response: { status: 400, headersAtMs: 2, rawHeaders: ['content-type', 'application/json'], preview: Buffer.from('{"error":"bad input"}') }, // prettier-ignore
      more: (context) => {
        lasting(context, 3);
        context.add('error', {
          error: new Error('not a\n price'),
          origin: 'passed on',
          atMs: 1,
          status: null,
        });
      },
    });
    const $ = await page(token);
    const [thrown, refused] = $('#wrong .leads > *').toArray().map((row) => $(row).text().replace(/\s+/g, ' ')); // prettier-ignore
    expect(thrown).to.contain('thrown').and.contain('Error: not a price').and.contain('overview.test.ts');
    expect(refused).to.contain('400').and.contain('bad input');
  });

  it('says that a job is completed, and nothing of a response', async () => {
    const job = fixture.recorder.openWork('job', { label: 'JOB', name: 'mails/confirm' });
    fixture.recorder.finish(job);
    await until(async () => (await fixture.store.read(job.token)) !== null, 'the job is stored');
    for (const end of ['.md', '.md?length=short']) {
      const text = await (await fetch(`${server.address}/_profiler/${job.token}${end}`)).text();
      expect(text)
        .to.match(/^# `JOB mails\/confirm`: completed/)
        .and.not.match(/no response/i);
    }
    const file = load(await (await fetch(`${server.address}/_profiler/${job.token}.html`)).text());
    expect(file('title').text()).to.contain('completed');
    expect(file('body').text()).to.not.match(/no response/i);
  });

  it('names a handler that responded and then passed its error on', async () => {
    const { token } = await fixture.profileOf({
      response: { status: 404, headersAtMs: 2 },
      more: (context) => {
        lasting(context, 3);
        const fact = layer({ name: 'routeHandler', startMs: 1, durationMs: 1, nextMs: null, outcome: 'threw' }); // prettier-ignore
        context.add('layer', fact);
        const error = recordError(context, new Error('no such user'), { origin: 'passed on', layer: fact });
        error.atMs = 9;
      },
    });
    const $ = await page(token);
    expect($('#wrong .leads').text()).to.contain('sent by routeHandler, before its error');
  });

  it('does not say who sent what was never sent', async () => {
    const { token } = await fixture.profileOf({
      response: { headersAtMs: null, outcome: 'aborted' },
      more: (context) => {
        lasting(context, 3);
        context.add(
          'layer',
          layer({ name: 'stuck', startMs: 1, durationMs: 1, nextMs: null, outcome: 'running' }),
        );
      },
    });
    const $ = await page(token);
    expect($('#received').text()).to.contain('reached last').and.not.contain('sent by');
  });

  it('begins with what was thrown if Hindsight’s error page was sent', async () => {
    const { token } = await fixture.profileOf({
      response: { status: 404, headersAtMs: 2, isErrorPage: true, bodyBytes: 10_000 },
      more: (context) => {
        lasting(context, 3);
        context.add('error', { error: new Error('There is no product 12.'), origin: 'handled', atMs: 1, status: 404 }); // prettier-ignore
      },
    });
    const $ = await page(token);
    expect($('#wrong .leads').text())
      .to.contain('404')
      .and.contain('Error: There is no product 12.')
      .and.contain('overview.test.ts')
      .and.not.contain('without a body');
  });

  it('shows the session as sent: a login sets its user', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        Object.assign(context.first('request') ?? {}, {
          live: { session: { visitor: 'ann' }, user: { id: 7 } },
        });
      },
    });
    const $ = await page(token);
    expect($('#sent').text()).to.match(/visitor: "ann"[^}]*\}\s*after the handler/);
    expect($('#received').text())
      .to.match(/id: 7[^}]*\}\s*req\.user at the end/)
      .and.not.contain('visitor');
  });

  it('shows a body that no middleware parsed', async () => {
    const { token } = await fixture.profileOf({
      method: 'POST',
      more: (context) => context.add('body', { bytes: 68, contentType: 'application/json', parsed: undefined, files: [], preview: Buffer.from('{"query":"{ orders { id } }"}'), truncated: false }), // prettier-ignore
    });
    const $ = await page(token);
    expect($('#received').text())
      .to.contain('query: "{ orders { id } }"')
      .and.contain('not parsed by Express middleware');
  });

  it('shows the text of a body that a middleware left as bytes', async () => {
    const { token } = await fixture.profileOf({
      method: 'POST',
      more: (context) => context.add('body', { bytes: 12, contentType: 'application/json', parsed: '[Buffer, 12 bytes]', files: [], preview: Buffer.from('{"event":12}'), truncated: false }), // prettier-ignore
    });
    const received = (await page(token))('#received').text();
    expect(received)
      .to.contain('event: 12')
      .and.not.match(/Buffer|not parsed/);
  });

  it('shows a parameter of any name, such as __proto__', async () => {
    const { token } = await fixture.profileOf({
      url: '/fines?__proto__=first&__proto__=second&constructor=third',
    });
    expect((await page(token))('#received').text()).to.contain(
      '__proto__: ["first", "second"], constructor: "third"',
    );
  });

  it('shows the first lines of a body and the last one, and how many there are', async () => {
    const bodyOf = async (count: number, truncated: boolean): Promise<string> => {
      const lines = Array.from({ length: count }, (_, at) => `{"reading":${at}}`);
      const { token } = await fixture.profileOf({
        responseHeaders: ['Content-Type', 'application/x-ndjson'],
        response: { preview: Buffer.from(`${lines.join('\n')}\n`), truncated },
      });
      return (await page(token))('#sent').text();
    };
    expect(await bodyOf(31, false)).to.match(
      /31 lines[^]*"reading":5\}\n?… 24 more lines\n?\{"reading":30\}/,
    );
    expect(await bodyOf(31, true))
      .to.contain('only its beginning')
      .and.not.contain('more lines');
    expect(await bodyOf(7, false))
      .to.contain('"reading":6')
      .and.not.contain('7 lines');
  });

  it('says what else a write changed in a row that was read before and after it', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        const read = { sql: 'select id, state, price, seen_at from rooms where id = $1', bindings: [7] };
        const row = { id: 7, state: 'free', price: 90, seen_at: 1 };
        context.add('query', query({ ...read, found: [row], startMs: 1 }));
        context.add('query', query({ sql: 'update rooms set price = $1 where id = 7', bindings: [80], startMs: 5 })); // prettier-ignore
        context.add('query', query({ ...read, found: [{ ...row, state: 'sold', price: 80, seen_at: 2 }], startMs: 9 })); // prettier-ignore
        context.add('query', query({ ...read, found: [row], bindings: [8], startMs: 12 }));
      },
    });
    const text = (await page(token))('#asked').text();
    expect(text.match(/also changed state "free" → "sold" since query 1, named by no write/g)).to.have.length(
      1,
    );
  });

  it('says that a call repeats a failed one', async () => {
    const stepsOf = async (key: string): Promise<string> => {
      const sent = (value: string, status: number, startMs: number) =>
        call({ status, startMs, durationMs: 1, requestHeaders: ['idempotency-key', value] });
      const { token } = await fixture.profileOf({
        more: (context) => {
          context.add('call', sent('ride-1', 503, 1));
          context.add('call', sent(key, 200, 5));
        },
      });
      return (await page(token))('#asked').text();
    };
    expect(await stepsOf('ride-1')).to.match(/ride-1[^]*again, after the 503/);
    expect(await stepsOf('ride-2')).to.not.contain('again');
  });

  it('does not mark a value of which only the form changed', async () => {
    const { token } = await fixture.profileOf({
      method: 'PUT',
      response: { rawHeaders: ['content-type', 'application/json'], preview: Buffer.from('{"monthlyRate":"109.50"}') }, // prettier-ignore
      more: (context) => {
        context.add('body', { bytes: 40, contentType: 'application/json', parsed: { monthlyRate: 109.5, yard: 'kar', lane: ' b' }, files: [], preview: Buffer.from(''), truncated: false }); // prettier-ignore
        context.add('query', query({ sql: 'update bikes set yard = $1, lane = $2', bindings: ['KAR', 'b'] }));
      },
    });
    const $ = await page(token);
    expect($('#asked .was').text().trim()).to.equal('received as lane: " b"');
    expect($('#sent .was').text()).to.equal('');
  });

  it('labels commands of a cache by what they share, and lists what each had', async () => {
    const asked = [['player:1', 'rating', '-8'], ['player:1', 'games', '1'], ['player:3', 'rating', '16']] as const; // prettier-ignore
    const { token } = await fixture.profileOf({
      more: (context) => {
        for (const [at, [key, ...args]] of asked.entries())
          context.add('cache', cacheCommand({ command: 'HINCRBY', key, args: args.map((value) => ({ name: '', value })), hits: null, asked: 0, reply: at, startMs: at + 1 })); // prettier-ignore
      },
    });
    const text = (await page(token))('#asked').text();
    expect(text).to.contain('HINCRBY player:… …').and.not.contain('HINCRBY player:1 rating');
    expect(text).to.match(
      /player:1 rating -8 \(replied 0\) · player:1 games 1 \(replied 1\) · player:3 rating 16/,
    );
  });

  it('says that the end of a cached value is not recorded', async () => {
    const value = `{"plate":"LD19 KWT","validFrom":"2025-11-23","valid…`;
    const { token } = await fixture.profileOf({
      more: (context) => {
        context.add('cache', cacheCommand({ command: 'GET', key: 'permit', asked: 1, hits: 1, found: { name: 'permit', value } })); // prettier-ignore
      },
    });
    expect((await page(token))('#asked').text()).to.contain(
      '{ plate: "LD19 KWT", validFrom: "2025-11-23" }, … the rest is not recorded',
    );
  });

  it('is what a profile opens on', async () => {
    const { token } = await fixture.record({});
    const $ = load(await (await fetch(`${server.address}/_profiler/${token}`)).text());
    expect($('.panels [aria-current]').text()).to.match(/^\s*Overview/);
    expect($('.panels a').first().attr('href')).to.equal(`/_profiler/${token}?panel=overview`);
    expect(createPanels({ describe: () => ({}) as never, configuration: {} as never })[0]?.name).to.equal(
      'overview',
    );
  });
});
