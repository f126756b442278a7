import { expect } from 'chai';
import { createDatabasePanel } from '../../app/panels/database/index.ts';
import { httpClientPanel } from '../../app/panels/http-client/index.ts';
import { requestPanel } from '../../app/panels/request/index.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
import { runtimePanel } from '../../app/panels/runtime/index.ts';
import { outsideTexts, type Span, type TimelineData } from '../../app/panels/shared/timeline-data.ts';
import { timelinePanel } from '../../app/panels/timeline/index.ts';
import { viewsPanel } from '../../app/panels/views/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { SPAN_KINDS, type SpanKind } from '../../app/profiler/read/span.ts';
import { addBusyPage, call, lasting, layer, query, reading, view } from '../support/observed-samples.ts';
import { requestFact, responseFact } from '../support/page-fixture.ts';
import { dataOf } from '../support/panel-data.ts';

const panel = timelinePanel;
/** What it is derived from. */
const sources = [
  requestPanel,
  createRoutingPanel(),
  createDatabasePanel(),
  httpClientPanel,
  viewsPanel,
  runtimePanel,
] as Panel[];

function collect(fill: (context: Context) => void, ms = 100): TimelineData {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), ms);
  fill(context);
  return dataOf(panel, context, sources)!;
}

interface Row {
  id: string;
  span: Span;
  label: string;
  href: string | null;
  count: number;
  bars: { kind: string; startMs: number; durationMs: number }[];
  busyMs: number;
  lines: { span: Span }[];
  openHref: string | null;
  zoomHref: string | null;
}

interface Model {
  rows: Row[];
  total: number;
  short: number;
  filtered: number;
  outside: number;
  folds: number;
  axis: { fromMs: number; toMs: number; ticks: { atMs: number; text: string }[]; zoomed: boolean };
}

function present(data: TimelineData, given: Record<string, string> = {}): Model {
  return panel.view?.model?.(data, {
    profile: { panels: {} } as Profile,
    query: given,
    amendments: {},
  }) as Model;
}

function labels(rows: readonly Row[]): string[] {
  return rows.map(({ span, label }) => `${'  '.repeat(span.depth)}${label}`);
}

/** Parameters of the link that it is. */
function queryOf(href: string | null | undefined): Record<string, string> {
  return Object.fromEntries(new URLSearchParams((href ?? '').replace(/#.*/, '')));
}

function isWait(kind: SpanKind): boolean {
  return SPAN_KINDS[kind].filter === 'Waits';
}

describe('the timeline panel', () => {
  it('puts every kind of work on one axis, nested by the layer that ran', () => {
    const { spans, totalMs } = collect(addBusyPage);
    expect(totalMs).to.equal(313.6);
    const shown = spans.map(({ kind, label, depth }) => `${'  '.repeat(depth)}${kind} ${label}`);
    expect(shown.slice(0, 12)).to.deep.equal([
      'app request',
      '  middleware requestId',
      '  middleware helmet',
      '  middleware session',
      '    db select … from sessions',
      '    idle unaccounted: code or waiting',
      '  middleware router /orders',
      '    middleware requireUser',
      '      db select … from users',
      '    app GET /orders/:id showOrder',
      '      db select … from orders',
      '      db select … from order_items',
    ]);
    const names = spans.map(({ label }) => label);
    expect(names).to.include.members([
      'POST rates.tax.example/v2/quote',
      'event loop blocked',
      'waiting for a connection',
    ]);
    const page = spans.find(({ label }) => label === 'orders/show');
    const partial = spans.find(({ label }) => label === 'orders/_items.ejs');
    expect(partial?.depth).to.equal((page?.depth ?? 0) + 1);
  });

  it('marks what began after the answer, and leads to the row that proves it', () => {
    const { spans } = collect(addBusyPage);
    const late = spans.filter(({ after }) => after);
    expect(late.map(({ label }) => label)).to.deep.equal(['update orders']);
    expect(late[0]).to.include({ panel: 'database', anchor: 'q24' });
    const loop = spans.filter(({ anchor }) => anchor === 'g1');
    expect(loop).to.have.length(18);
  });

  it('gives each millisecond to one kind, and the rest to own code', () => {
    const { shares } = collect((context) => {
      context.add('query', query({ startMs: 10, durationMs: 20, waitMs: 5 }));
      context.add('query', query({ startMs: 20, durationMs: 20, bindings: [2], waitMs: 0 }));
      context.add('call', call({ startMs: 30, durationMs: 20, connection: null }));
      context.add('view', view({ startMs: 60, durationMs: 10 }));
      context.add('runtime', { read: () => reading({ blocks: [{ startMs: 12, durationMs: 8 }] }) });
    });
    expect(Object.fromEntries(shares.map(({ label, ms }) => [label, ms]))).to.deep.equal({
      'Your code': 45, Database: 22, 'Outgoing calls': 10, Views: 10, 'Blocked by others': 8, 'Waiting for a connection': 5,
    }); // prettier-ignore
    expect(shares.reduce((sum, { ms }) => sum + ms, 0)).to.equal(100);
    // What the panels of these kinds show.
    expect(Object.fromEntries(shares.map(({ kind, allMs }) => [kind, allMs]))).to.include({
      db: 30,
      out: 20,
    });
  });

  it('lets a middleware end where the next layer starts, and a running one at the end of the answer', () => {
    const { spans } = collect((context) => {
      context.add('layer', layer({ name: 'first', startMs: 1, durationMs: 90, nextMs: 4 }));
      context.add(
        'layer',
        layer({ name: 'failing', startMs: 5, durationMs: 2, nextMs: null, outcome: 'threw' }),
      );
      context.add(
        'layer',
        layer({ name: 'last', startMs: 8, durationMs: 1, nextMs: null, outcome: 'running' }),
      );
    });
    const layers = spans.filter(({ label }) => ['first', 'failing', 'last'].includes(label));
    expect(layers.map(({ label, durationMs }) => [label, durationMs])).to.deep.equal([
      ['first', 4],
      ['failing', 2],
      ['last', 92],
    ]);
  });

  it('folds a loop to one row, and hides by threshold and kind what it then counts', () => {
    const data = collect(addBusyPage);
    const all = present(data);
    const loop = all.rows.find(({ count }) => count > 1);
    expect(loop?.count).to.equal(18);
    expect(loop?.bars).to.have.length(18);
    expect(present(data, { over: '1' }).short).to.equal(2);
    expect(present(data).short).to.equal(0);
    const cheap = collect((context) => {
      context.add('layer', layer({ nextMs: 0.04 }));
      for (let i = 0; i < 5; i++)
        context.add('query', query({ bindings: [i], startMs: 1 + i, durationMs: 0.05 }));
    });
    expect(present(cheap, { shown: '1', middleware: '1', queries: '1' }).short).to.equal(1);
    const shown = present(cheap, { shown: '1', middleware: '1', queries: '1' }).rows;
    expect(shown.map(({ count }) => count)).to.deep.equal([1, 5]);
    expect(present(cheap, { over: '0' }).short).to.equal(0);
    const off = data.spans.filter(({ kind }) => SPAN_KINDS[kind].filter !== 'Middleware').length;
    expect(present(data, { shown: '1', middleware: '1' }).filtered).to.equal(off);
    expect(present(data, { over: 'nonsense' }).short).to.equal(0);
  });

  it('steps its axis in round numbers for any duration', () => {
    for (const ms of [0, 0.02, 0.9, 7, 313.6, 12_345, 3_600_000]) {
      const { ticks, toMs } = present(collect(() => undefined, ms)).axis;
      expect(ticks.length, `${ms} ms`).to.be.within(1, 8);
      expect(toMs).to.be.at.least(ms);
      expect(ticks.every(({ atMs }) => Number.isFinite(atMs))).to.equal(true);
    }
  });

  it('nests a view in the view that took it in, whatever else ran at that time', () => {
    const { spans } = collect((context) => {
      context.add('layer', layer({ name: 'show', kind: 'handler', outcome: 'running', nextMs: null }));
      context.add('view', view({ name: 'page', startMs: 10, durationMs: 50 }));
      context.add('query', query({ startMs: 11, durationMs: 5 }));
      context.add('view', view({ name: 'part', startMs: 20, durationMs: 5, depth: 1, parent: 0 }));
    });
    const names = spans.filter(({ kind }) => !isWait(kind)).map(({ label, depth }) => `${depth} ${label}`);
    expect(names).to.deep.equal(['0 request', '1 ALL / show', '2 page', '3 part', '2 select … from users']);
  });

  it('gives each row that holds others its own time', () => {
    const { spans } = collect((context) => {
      context.add('layer', layer({ name: 'show', kind: 'handler', startMs: 0, durationMs: 2, outcome: 'running', nextMs: null })); // prettier-ignore
      context.add('query', query({ startMs: 10, durationMs: 20, waitMs: 0 }));
      context.add('query', query({ startMs: 20, durationMs: 30, waitMs: 0, bindings: [2] }));
    });
    const show = spans.find(({ label }) => label.includes('show'));
    // 58 ms more stand in rows of their own: nothing is known to have run.
    expect(show?.selfMs).to.equal(2);
    expect(spans.filter(({ kind }) => kind === 'db').every(({ selfMs }) => selfMs === undefined)).to.equal(
      true,
    );
  });

  it('draws the waits between: what nothing ran in, by what is known of it', () => {
    const { spans, shares } = collect((context) => {
      context.add('request', requestFact({}));
      context.add('response', responseFact({ response: { headersAtMs: 80 } }));
      context.add('layer', layer({ name: 'jsonParser', startMs: 2, durationMs: 1, nextMs: 18 }));
      context.add('layer', layer({ name: 'show', kind: 'handler', startMs: 20, durationMs: 5, outcome: 'running', nextMs: null })); // prettier-ignore
      context.add('query', query({ startMs: 25, durationMs: 15, waitMs: 0 }));
    });
    const waits = spans.filter(({ kind }) => isWait(kind));
    expect(waits.map(({ label, startMs, durationMs }) => [label, startMs, durationMs])).to.deep.equal([
      ['receiving the body', 3, 17],
      ['unaccounted: code or waiting', 40, 40],
      ['sending the response', 80, 20],
    ]);
    expect(Object.fromEntries(shares.map(({ label, ms }) => [label, ms]))).to.deep.equal({
      Unaccounted: 40, 'Sending the response': 20, 'Receiving the body': 17, Database: 15, 'Your code': 5, Middleware: 3,
    }); // prettier-ignore
  });

  it('calls no wait what a function did without a break', () => {
    const { spans } = collect((context) => {
      context.add('layer', layer({ name: 'busy', startMs: 0, durationMs: 99.5, nextMs: null, outcome: 'running' })); // prettier-ignore
    });
    expect(spans.filter(({ kind }) => isWait(kind))).to.deep.equal([]);
  });

  it('gives statements past the recording limit the time that they ran, without the gaps between', () => {
    const blocks = [{ startMs: 1, durationMs: 89 }];
    const repeating = { key: () => 'insert', failed: () => false };
    const { shares } = collect((context) => {
      for (let at = 0; at < 3000; at++)
        context.add('query', query({ system: 'sqlite', sql: 'insert into notes', startMs: at * 0.03, durationMs: 0.01, waitMs: 0 }), 1000, repeating); // prettier-ignore
      context.add('runtime', { read: () => reading({ blocks, collections: [] }) });
    });
    expect(shares.find(({ kind }) => kind === 'db')).to.include({ count: 3000 });
    expect(shares.find(({ kind }) => kind === 'db')?.ms).to.be.within(29.5, 30.5);
  });

  it('draws collections, and says which request blocked the loop where that is known', () => {
    const by = { profile: 'abc123', what: 'GET /reports/daily', where: 'buildReport' };
    const blocks = [{ startMs: 10, durationMs: 20, by }, { startMs: 50, durationMs: 12 }]; // prettier-ignore
    const { spans } = collect((context) => {
      context.add('runtime', { read: () => reading({ blocks, collections: [{ startMs: 5, durationMs: 2, kind: 'minor' }] }) }); // prettier-ignore
    });
    expect(spans.slice(1).map(({ label, token, anchor }) => [label, token, anchor])).to.deep.equal([
      ['garbage collection, minor', undefined, 'gc1'],
      ['event loop blocked by GET /reports/daily, in buildReport', 'abc123', 'h1'],
      ['event loop blocked', undefined, 'h2'],
    ]);
  });

  it('draws the wait before the request was read in front of it, and counts it in no share', () => {
    const by = { profile: 'abc123', what: 'GET /reports/daily', where: 'buildReport' };
    const read = () => reading({ blocks: [], collections: [], before: { durationMs: 14, by } });
    const data = collect((context) => context.add('runtime', { read }));
    expect(data.spans[1]).to.deep.include({
      kind: 'before',
      startMs: -14,
      durationMs: 14,
      outside: true,
      token: 'abc123',
    });
    expect(data.shares.map(({ kind, ms }) => [kind, ms])).to.deep.equal([['app', 100]]);
    const { axis } = present(data);
    expect([axis.fromMs, axis.toMs, axis.zoomed]).to.deep.equal([-14, 100, false]);
    expect(outsideTexts(data)).to.deep.equal(['up to 14.0 ms before it was read']);
  });

  it('makes what the process did again and again one row, with a bar for each', () => {
    const blocks = Array.from({ length: 6 }, (_, i) => ({ startMs: i * 15, durationMs: 11 }));
    const { rows } = present(collect((context) => context.add('runtime', { read: () => reading({ blocks, collections: [] }) }))); // prettier-ignore
    expect(rows.slice(1).map(({ label, bars, busyMs }) => [label, bars.length, busyMs])).to.deep.equal([
      ['6 × event loop blocked', 6, 66],
    ]);
  });

  it('makes equal calls of one layer one row, and says if one of them failed', () => {
    const { rows } = present(
      collect((context) => {
        context.add('layer', layer({ name: 'show', kind: 'handler', startMs: 0, durationMs: 1, outcome: 'running', nextMs: null })); // prettier-ignore
        for (let i = 0; i < 30; i++)
          context.add('call', call({ method: 'GET', url: `http://rates.internal/r?id=${i}`, startMs: 2 + i * 3, durationMs: 2, connection: null, status: i === 7 ? 404 : 200 })); // prettier-ignore
      }),
    );
    const calls = rows.filter(({ span }) => span.kind === 'out');
    expect(calls.map(({ label, bars }) => [label, bars.length])).to.deep.equal([
      ['30 × GET rates.internal/r', 30],
    ]);
    expect((calls[0] as unknown as { failed: string }).failed).to.equal('404');
  });

  it('draws the connecting of a call as the wait it is', () => {
    const { spans } = collect((context) => {
      context.add('call', call({ startMs: 10, durationMs: 80, connection: { lookupMs: 5, connectMs: 10, tlsMs: null } })); // prettier-ignore
    });
    expect(spans.find(({ kind }) => kind === 'out')?.parts).to.deep.equal([
      { kind: 'socket', startMs: 10, durationMs: 15 },
      { kind: 'out', startMs: 25, durationMs: 65 },
    ]);
  });

  it('shows a part of the axis by its address, and counts what lies elsewhere', () => {
    const data = collect(addBusyPage);
    const { axis, outside } = present(data, { from: '130', to: '290' });
    expect(axis).to.include({ fromMs: 130, toMs: 290, zoomed: true });
    expect(axis.ticks[0]?.text).to.equal('150 ms');
    expect(outside).to.be.greaterThan(20);
    for (const odd of [
      { from: '9', to: '2' },
      { from: 'x' },
      { to: '-1' },
      { from: '1e9' },
      { from: 'Infinity' },
    ])
      expect(present(data, odd as Record<string, string>).axis.toMs, JSON.stringify(odd)).to.be.greaterThan(
        300,
      );
  });

  it('finds spans by text, with what they ran inside of', () => {
    const { rows, filtered } = present(collect(addBusyPage), { find: 'SHIPMENTS' });
    expect(labels(rows)).to.deep.equal([
      'request',
      '  router /orders',
      '    GET /orders/:id showOrder',
      '      select … from shipments',
    ]);
    expect(filtered).to.be.greaterThan(20);
    expect(present(collect(addBusyPage), { find: 'nothing like it' }).total).to.equal(0);
  });

  describe('of very many spans', () => {
    const crowd = (): TimelineData =>
      collect((context) => {
        context.add('layer', layer({ name: 'load', startMs: 0, durationMs: 1, nextMs: 300 }));
        context.add('layer', layer({ name: 'report', kind: 'handler', startMs: 300, durationMs: 1, outcome: 'running', nextMs: null })); // prettier-ignore
        for (let i = 0; i < 500; i++) {
          const sql = `select "a${i}" from "table_${String.fromCharCode(97 + (i % 26))}" where b = $1`;
          context.add('query', query({ sql, startMs: 2 + i * 1.9, durationMs: 0.2 + (i % 50) / 40, waitMs: 0, caller: `src/a.ts:${i}` })); // prettier-ignore
        }
      }, 1000);

    it('folds those of one kind by their parent, the longest listed, the rest counted', () => {
      const { rows: all, folds } = present(crowd());
      const rows = all.filter(({ lines }) => lines.length > 0);
      expect(folds).to.equal(2);
      expect(rows.map(({ id, label }) => `${id} ${label}`)).to.deep.equal([
        'f1-db 157 queries',
        'f159-db 343 queries',
      ]);
      const lengths = rows[0]?.lines.map(({ span }) => span.durationMs) ?? [];
      expect(lengths).to.have.length(40);
      expect(lengths).to.deep.equal([...lengths].sort((a, b) => b - a));
      expect(rows[0]?.bars.length).to.be.at.most(60);
    });

    it('opens one parent by its address, each span on a row', () => {
      const data = crowd();
      const fold = present(data).rows.find(({ lines }) => lines.length > 0);
      const opened = present(data, queryOf(fold?.openHref));
      expect(opened.folds).to.equal(0);
      expect(opened.rows.slice(1, 4).every(({ count, span }) => count === 1 && span.depth > 0)).to.equal(
        true,
      );
      expect(present(data, { all: '1' }).rows.length).to.be.greaterThan(500);
    });
  });
});
