import { expect } from 'chai';
import type { LogsData } from '../../app/panels/logs/data.ts';
import { logsPanel as panel } from '../../app/panels/logs/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Json } from '../../app/profiler/json.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { Presentation } from '../../app/profiler/read/rows.ts';
import { type PageSection, rowsPage } from '../../app/render/rows-page.ts';
import { addBusyPage, addCrowd, lasting, log } from '../support/observed-samples.ts';
import { contextWith, recordedBy, summaryOf } from '../support/panel-data.ts';

const collect = (fill: (context: Context) => void): LogsData =>
  recordedBy(
    panel,
    contextWith((context) => fill(lasting(context, 300))),
  );

function presented(data: LogsData): Presentation {
  return panel.rows?.(data, { profile: {} as Profile, amendments: {} }) ?? { sections: [] };
}

function shown(data: LogsData, query: Record<string, string> = {}): PageSection {
  const [section] = rowsPage(presented(data), { page: { panel: 'logs' }, query }).sections;
  if (section === undefined) throw new Error('There are no lines.');
  return section;
}

describe('the logs panel', () => {
  it('counts by level and is as worried as the worst line', () => {
    const data = collect(addBusyPage);
    expect(data.counts).to.deep.equal({ error: 1, warn: 1, info: 1, debug: 19 });
    expect(summaryOf(panel, data)).to.deep.equal({ text: '1 error · 22', tone: 'bad', count: 22 });
  });

  it('groups lines that differ only in values, and shows each line on demand', () => {
    const data = collect(addBusyPage);
    const { items } = shown(data);
    expect(items).to.have.length(5);
    const repeated = items.find(({ members }) => members.length > 1);
    expect(repeated?.members).to.have.length(18);
    expect(shown(data, { rows: 'single' }).items).to.have.length(22);
  });

  it('keeps lines of different levels, channels and places apart', () => {
    const data = collect((context) => {
      context.add('log', log({}));
      context.add('log', log({ level: 'warn' }));
      context.add('log', log({ channel: 'pino' }));
      context.add('log', log({ caller: 'src/a.ts:1' }));
    });
    expect(shown(data).items).to.have.length(4);
  });

  it('opens the group that holds the line of its address', () => {
    const data = collect((context) => {
      addBusyPage(context);
      for (let i = 0; i < 3; i++) context.add('log', log({ message: `again ${i}`, atMs: 290 + i }));
    });
    const opened = shown(data, { open: 'l10' }).items.filter(({ isOpen }) => isOpen);
    expect(opened.map(({ members }) => members.length)).to.deep.equal([18]);
    expect(shown(data, { open: 'l1"><' }).items.some(({ isOpen }) => isOpen)).to.equal(false);
  });

  it('takes levels and channels to show, each by its box or its name', () => {
    const data = collect(addBusyPage);
    const count = (query: Record<string, string>): number => shown(data, query).matching;
    expect(count({ 'level.error': '1', 'level.warn': '1' })).to.equal(2);
    expect(count({})).to.equal(22);
    expect(count({ channel: 'tax' })).to.equal(1);
    expect(count({ channel: 'tax', level: 'error' })).to.equal(0);
    expect(count({ channel: 'no such' })).to.equal(22);
  });

  it('keeps a filter in the link to all rows', () => {
    const data = collect((context) => {
      addCrowd(context, { queries: 1, lines: 700 });
    });
    const given = { level: 'info', find: 'order', rows: 'single' };
    const { allHref, sections } = rowsPage(presented(data), { page: { panel: 'logs' }, query: given });
    expect(sections[0]?.items).to.have.length(500);
    const all = Object.fromEntries(new URLSearchParams(allHref));
    expect(all).to.deep.equal({ panel: 'logs', find: 'order', rows: 'single', all: '1' });
    expect(shown(data, all).items).to.have.length(700);
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
      const detail = shown(data).items[0]?.row.detail?.() ?? [];
      const frames = detail.find(({ title }) => title === 'Stack')?.frames;
      expect(frames?.map(({ kind, file, line }) => `${kind} ${file ?? ''}:${line ?? ''}`)).to.deep.equal([
        'own src/orders/order-view.ts:31',
        'own src/load.ts:7',
        'vendor node_modules/express/lib/router.js:4',
        'node node:internal/process/task_queues:95',
      ]);
      expect(JSON.stringify(detail.find(({ title }) => title === 'Context'))).to.not.contain('showOrder');
    }
    const odd = collect((made) => {
      made.add('log', log({ context: { stack: 'no frame at all' } }));
    });
    expect(shown(odd).items[0]?.row.detail?.()).to.deep.equal([
      { title: 'Context', value: { stack: 'no frame at all' } },
    ]);
  });

  it('presents every line with its level, channel, context, place and stack', () => {
    const stack = 'Error: no\n    at pay (/srv/shop/src/pay.ts:3:1)';
    const data = collect((context) => {
      context.add('log', log({ level: 'error', message: 'order 7 failed', context: { order: 7, stack } }));
      context.add('log', log({ level: 'error', message: 'order 8 failed', channel: 'pino', atMs: 301 }));
      context.add('log', log({ level: 'debug', caller: null }));
    });
    const { figures, sections } = presented(data);
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
    const count = (query: Record<string, string>): number => shown(data, query).matching;
    expect(count({ level: 'warn' })).to.equal(1);
    expect(count({ find: 'AR-EG' })).to.equal(1);
    expect(count({ find: 'tax/client' })).to.equal(1);
    expect(count({ level: 'error', find: 'nothing like it' })).to.equal(0);
    expect(count({ level: '__proto__' })).to.equal(22);
  });

  it('marks what was written after the response', () => {
    const data = collect((context) => {
      context.add('log', log({ atMs: 299 }));
      context.add('log', log({ atMs: 301 }));
    });
    expect(data.lines.map(({ after }) => after)).to.deep.equal([false, true]);
  });
});
