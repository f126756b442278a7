import { expect } from 'chai';
import type { LogsData } from '../../app/panels/logs/data.ts';
import type { LineGroup } from '../../app/panels/logs/groups.ts';
import { logsPanel as panel } from '../../app/panels/logs/index.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Json } from '../../app/profiler/json.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage, addCrowd, lasting, log } from '../support/observed-samples.ts';
import { contextWith, dataOf, recordedBy, summaryOf } from '../support/panel-data.ts';

const collect = (fill: (context: Context) => void): LogsData =>
  recordedBy(
    panel,
    contextWith((context) => fill(lasting(context, 300))),
  );

function drawn(data: LogsData, given: Record<string, string> = {}) {
  return panel.view?.model?.(data, { profile: {} as Profile, query: given, amendments: {} }) as {
    rows: (LineGroup & { openHref: string | null })[];
    total: number;
    lines: number;
    allHref: string;
  };
}

describe('the logs panel', () => {
  it('records nothing for a request without log lines', () => {
    expect(dataOf(panel, new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('counts by level and is as worried as the worst line', () => {
    const data = collect(addBusyPage);
    expect(data.counts).to.deep.equal({ error: 1, warn: 1, info: 1, debug: 19 });
    expect(summaryOf(panel, data)).to.deep.equal({ text: '1 error · 22', tone: 'bad', count: 22 });
  });

  it('groups lines that differ only in values, and shows each line on demand', () => {
    const data = collect(addBusyPage);
    const grouped = drawn(data);
    expect(grouped.total).to.equal(5);
    const repeated = grouped.rows.find(({ count }) => count > 1);
    expect(repeated).to.include({ count: 18 });
    expect(repeated?.values.slice(0, 2)).to.deep.equal(['311', '318']);
    expect(drawn(data, { rows: 'single' }).total).to.equal(22);
  });

  it('keeps lines of different levels, channels and places apart', () => {
    const data = collect((context) => {
      context.add('log', log({}));
      context.add('log', log({ level: 'warn' }));
      context.add('log', log({ channel: 'pino' }));
      context.add('log', log({ caller: 'src/a.ts:1' }));
    });
    expect(drawn(data).total).to.equal(4);
  });

  it('opens one group by its address, and leaves the others closed', () => {
    const data = collect((context) => {
      addBusyPage(context);
      for (let i = 0; i < 3; i++) context.add('log', log({ message: `again ${i}`, atMs: 290 + i }));
    });
    const group = drawn(data).rows.find(({ count }) => count === 18);
    const opened = drawn(data, Object.fromEntries(new URLSearchParams(group?.openHref?.replace(/#.*/, ''))));
    expect(opened.total).to.equal(drawn(data).total + 17);
    expect(opened.rows.filter(({ count }) => count === 3)).to.have.length(1);
    const inside = drawn(data, { open: 'l10' }).rows;
    expect(
      inside.some(({ id }) => id === 'l10'),
      'a line inside of a group',
    ).to.equal(true);
    expect(drawn(data, { open: 'l1"><' }).total).to.equal(drawn(data).total);
  });

  it('takes boxes for levels that the form was sent with, and a channel', () => {
    const data = collect(addBusyPage);
    expect(drawn(data, { shown: '1', error: '1', warn: '1' }).lines).to.equal(2);
    expect(drawn(data, { shown: '1' }).lines).to.equal(0);
    expect(drawn(data, {}).lines).to.equal(22);
    const tax = drawn(data, { channel: 'tax' });
    expect(tax.lines).to.equal(1);
    expect(tax.rows.map(({ entry }) => entry.level)).to.deep.equal(['warn']);
    expect(drawn(data, { channel: 'no such' }).lines).to.equal(22);
  });

  it('keeps a filter in the link to all rows', () => {
    const data = collect((context) => {
      addCrowd(context, { queries: 1, lines: 700 });
    });
    const { rows, allHref } = drawn(data, { shown: '1', info: '1', find: 'order', rows: 'single' });
    expect(rows).to.have.length(500);
    const all = Object.fromEntries(new URLSearchParams(allHref));
    const query = { panel: 'logs', find: 'order', shown: '1', rows: 'single', info: '1', all: '1' };
    expect(all).to.deep.equal(query);
    expect(drawn(data, all).rows).to.have.length(700);
  });

  it('reads the stack of a logged error as frames, own places named from the folder of the application', () => {
    const stack = [
      'TypeError: no such thing',
      '    at showOrder (/srv/shop/src/orders/order-view.ts:31:9)',
      '    at async load (file:///srv/shop/src/load.ts:7:1)',
      '    at /srv/shop/node_modules/express/lib/router.js:4:2',
      '    at node:internal/process/task_queues:95:5',
      '    at something that is no frame',
    ].join('\n');
    const contexts: Json[] = [{ code: 'E', stack }, { err: { type: 'TypeError', stack } }];
    for (const context of contexts) {
      const data = collect((made) => {
        made.add('log', log({ context }));
      });
      const [row] = drawn(data).rows;
      expect(
        row?.stack?.frames.map(({ kind, file, line }) => `${kind} ${file ?? ''}:${line ?? ''}`),
      ).to.deep.equal([
        'own src/orders/order-view.ts:31',
        'own src/load.ts:7',
        'vendor node_modules/express/lib/router.js:4',
        'node node:internal/process/task_queues:95',
      ]);
      expect(JSON.stringify(row?.details)).to.not.contain('showOrder');
    }
    const odd = collect((made) => {
      made.add('log', log({ context: { stack: 'no frame at all' } }));
    });
    expect(drawn(odd).rows[0]).to.deep.include({ stack: null, details: { stack: 'no frame at all' } });
  });

  it('presents every line with its level, channel, context, place and stack', () => {
    const stack = 'Error: no\n    at pay (/srv/shop/src/pay.ts:3:1)';
    const data = collect((context) => {
      context.add('log', log({ level: 'error', message: 'order 7 failed', context: { order: 7, stack } }));
      context.add('log', log({ level: 'error', message: 'order 8 failed', channel: 'pino', atMs: 301 }));
      context.add('log', log({ level: 'debug', caller: null }));
    });
    const { figures, sections } = panel.rows?.(data, { profile: {} as Profile, amendments: {} }) ?? {
      sections: [],
    };
    expect(figures?.map(({ label, value }) => `${label} ${value ?? ''}`)).to.deep.equal([
      'Log lines 3',
      'Errors 2',
      'Debug 1',
    ]);
    const [first, second, third] = sections[0]?.rows ?? [];
    expect(first).to.deep.include({
      id: 'l1',
      label: 'error',
      text: 'order 7 failed',
      tone: 'bad',
      note: null,
    });
    expect(first?.block?.text).to.equal(stack);
    expect(first?.fields?.map(({ value }) => value)).to.deep.equal(['console.log', { order: 7 }]);
    expect(second).to.include({ number: 301, note: 'after the response', key: 'error pino: order # failed' });
    expect(third).to.include({ tone: 'plain', place: null });
  });

  it('filters by level and by text in message, context and caller', () => {
    const data = collect(addBusyPage);
    expect(drawn(data, { level: 'warn' }).lines).to.equal(1);
    expect(drawn(data, { find: 'AR-EG' }).lines).to.equal(1);
    expect(drawn(data, { find: 'tax/client' }).lines).to.equal(1);
    expect(drawn(data, { level: 'error', find: 'nothing like it' }).lines).to.equal(0);
    expect(drawn(data, { level: '__proto__' }).lines).to.equal(22);
  });

  it('marks what was written after the response', () => {
    const data = collect((context) => {
      context.add('log', log({ atMs: 299 }));
      context.add('log', log({ atMs: 301 }));
    });
    expect(data.lines.map(({ after }) => after)).to.deep.equal([false, true]);
  });
});
