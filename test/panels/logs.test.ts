import { expect } from 'chai';
import { createLogsPanel, type LogRow, type LogsData } from '../../app/panels/logs.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage, addCrowd, lasting, log } from '../support/observed-samples.ts';

const panel = createLogsPanel();

function collect(fill: (context: Context) => void): LogsData {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 300);
  fill(context);
  const data = panel.collect(context);
  if (data === null) throw new Error('Nothing was collected.');
  return data;
}

function present(data: LogsData, given: Record<string, string> = {}) {
  return panel.present?.(data, { profile: {} as Profile, query: given }) as {
    page: { rows: LogRow[]; total: number; next: number | null };
    lines: number;
    level: string | null;
  };
}

describe('the logs panel', () => {
  it('has nothing to say where no line was written', () => {
    expect(panel.collect(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('counts by level and is as worried as the worst line', () => {
    const data = collect(addBusyPage);
    expect(data.counts).to.deep.equal({ error: 1, warn: 1, info: 1, debug: 19 });
    expect(panel.summary?.(data)).to.deep.equal({ text: '22', tone: 'bad', count: 22 });
  });

  it('makes lines that differ only in values one row, and each line by itself on demand', () => {
    const data = collect(addBusyPage);
    const grouped = present(data);
    expect(grouped.page.total).to.equal(5);
    const repeated = grouped.page.rows.find(({ count }) => count > 1);
    expect(repeated).to.include({ count: 18 });
    expect(repeated?.values.slice(0, 2)).to.deep.equal(['311', '318']);
    expect(present(data, { rows: 'single' }).page.total).to.equal(22);
  });

  it('keeps lines of different levels, channels and places apart', () => {
    const data = collect((context) => {
      context.add('log', log({}));
      context.add('log', log({ level: 'warn' }));
      context.add('log', log({ channel: 'pino' }));
      context.add('log', log({ caller: 'src/a.ts:1' }));
    });
    expect(present(data).page.total).to.equal(4);
  });

  it('filters by level and by text in message, context and caller', () => {
    const data = collect(addBusyPage);
    expect(present(data, { level: 'warn' }).lines).to.equal(1);
    expect(present(data, { find: 'AR-EG' }).lines).to.equal(1);
    expect(present(data, { find: 'tax/client' }).lines).to.equal(1);
    expect(present(data, { level: 'error', find: 'nothing like it' }).lines).to.equal(0);
    expect(present(data, { level: '__proto__' }).level).to.equal(null);
  });

  it('marks what was written after the answer', () => {
    const data = collect((context) => {
      context.add('log', log({ atMs: 299 }));
      context.add('log', log({ atMs: 301 }));
    });
    expect(data.lines.map(({ after }) => after)).to.deep.equal([false, true]);
  });

  it('pages a flood and says so', () => {
    const data = collect((context) => {
      addCrowd(context, { queries: 1, lines: 500 });
    });
    const { page } = present(data);
    expect(page.next).to.be.within(20, 200);
    expect(present(data, { from: String(page.next) }).page.rows[0]?.id).to.equal(`l${(page.next ?? 0) + 1}`);
  });
});
