import { expect } from 'chai';
import { createDatabasePanel } from '../../app/panels/database.ts';
import { createHttpClientPanel } from '../../app/panels/http-client.ts';
import { createRoutingPanel } from '../../app/panels/routing.ts';
import { createRuntimePanel } from '../../app/panels/runtime.ts';
import { createTimelinePanel, type Span, type TimelineData } from '../../app/panels/timeline.ts';
import { createViewsPanel } from '../../app/panels/views.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage, call, lasting, layer, query, reading, view } from '../support/observed-samples.ts';
import { dataOf } from '../support/panel-data.ts';

const panel = createTimelinePanel();
/** What it is derived from. */
const sources = [
  createRoutingPanel(),
  createDatabasePanel(),
  createHttpClientPanel(),
  createViewsPanel(),
  createRuntimePanel(),
] as Panel[];

function collect(fill: (context: Context) => void, ms = 100): TimelineData {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), ms);
  fill(context);
  return dataOf(panel, context, sources)!;
}

interface Row {
  span: Span;
  count: number;
  bars: unknown[];
}

function present(data: TimelineData, given: Record<string, string> = {}) {
  return panel.present?.(data, { profile: {} as Profile, query: given }) as {
    page: { rows: Row[]; total: number };
    short: number;
    filtered: number;
    axisMs: number;
    ticks: number[];
  };
}

describe('the timeline panel', () => {
  it('puts every kind of work on one axis, nested by the layer that ran', () => {
    const { spans, totalMs } = collect(addBusyPage);
    expect(totalMs).to.equal(313.6);
    const shown = spans.map(({ kind, label, depth }) => `${'  '.repeat(depth)}${kind} ${label}`);
    expect(shown.slice(0, 12)).to.deep.equal([
      'app request',
      '  app requestId',
      '  app helmet',
      '  app session',
      '    db select … from sessions',
      '  app router /orders',
      '    app requireUser',
      '      db select … from users',
      '    app GET /orders/:id showOrder',
      '      db select … from orders',
      '      db select … from order_items',
      '      db select … from products',
    ]);
    const names = spans.map(({ label }) => label);
    expect(names).to.include.members([
      'POST rates.tax.example/v2/quote',
      'event loop held',
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
      context.add('call', call({ startMs: 30, durationMs: 20 }));
      context.add('view', view({ startMs: 60, durationMs: 10 }));
      context.add('runtime', { read: () => reading({ held: [{ startMs: 12, durationMs: 8 }] }) });
    });
    expect(Object.fromEntries(shares.map(({ label, ms }) => [label, ms]))).to.deep.equal({
      'Own code': 45, Database: 22, 'Outgoing calls': 10, Views: 10, 'Event loop held': 8, 'Waiting for the pool': 5,
    }); // prettier-ignore
    expect(shares.reduce((sum, { ms }) => sum + ms, 0)).to.equal(100);
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
    expect(spans.slice(1).map(({ label, durationMs }) => [label, durationMs])).to.deep.equal([
      ['first', 4],
      ['failing', 2],
      ['last', 92],
    ]);
  });

  it('folds a loop to one row, and hides by threshold and kind what it then counts', () => {
    const data = collect(addBusyPage);
    const all = present(data);
    const loop = all.page.rows.find(({ count }) => count > 1);
    expect(loop?.count).to.equal(18);
    expect(loop?.bars).to.have.length(18);
    expect(present(data, { over: '1' }).short).to.equal(2);
    expect(present(data).short).to.equal(0);
    const cheap = collect((context) => {
      context.add('layer', layer({ nextMs: 0.04 }));
      for (let i = 0; i < 5; i++)
        context.add('query', query({ bindings: [i], startMs: 1 + i, durationMs: 0.05 }));
    });
    expect(present(cheap).short).to.equal(1);
    expect(present(cheap).page.rows.map(({ count }) => count)).to.deep.equal([1, 5]);
    expect(present(cheap, { over: '0' }).short).to.equal(0);
    expect(present(data, { shown: '1', layers: '1' }).filtered).to.equal(31);
    expect(present(data, { over: 'nonsense' }).short).to.equal(0);
  });

  it('steps its axis in round numbers for any duration', () => {
    for (const ms of [0, 0.02, 0.9, 7, 313.6, 12_345, 3_600_000]) {
      const { ticks, axisMs } = present(collect(() => undefined, ms));
      expect(ticks.length, `${ms} ms`).to.be.within(1, 8);
      expect(axisMs).to.be.at.least(ms);
      expect(ticks.every(Number.isFinite)).to.equal(true);
    }
  });
});
