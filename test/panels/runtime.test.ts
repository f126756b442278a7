import { expect } from 'chai';
import { runtimePanel } from '../../app/panels/runtime/index.ts';
import { Context } from '../../app/profiler/context.ts';
import type { RuntimeReading } from '../../app/observe/runtime.ts';
import { lasting, reading } from '../support/observed-samples.ts';
import { dataOf, profileOf, recordedBy, summaryOf } from '../support/panel-data.ts';

const panel = runtimePanel;

function contextOf(given: Partial<RuntimeReading>) {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 300);
  context.add('runtime', { read: () => reading(given) });
  return context;
}

const collect = (given: Partial<RuntimeReading>) => recordedBy(panel, contextOf(given));

describe('the panel of the process', () => {
  it('has nothing to say where the process was not watched', () => {
    expect(panel.collect?.(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('sums what blocked the loop and what was collected', () => {
    const data = collect({});
    expect(data.totals).to.deep.equal({ blockedMs: 7.1 });
    expect(summaryOf(panel, data)).to.deep.equal({ text: '41.3 ms CPU', tone: 'plain' });
  });

  it('lists what blocked the request in its order, with the other request where it is known', () => {
    const by = { profile: 'abc123', what: 'GET /reports/daily', where: 'buildReport' };
    const blocks = [
      { startMs: 10, durationMs: 20, by },
      { startMs: 100, durationMs: 30, by: { ...by, profile: '000000' } },
      { startMs: 200, durationMs: 11 },
    ];
    const context = contextOf({ blocks, collections: [{ startMs: 50, durationMs: 2, kind: 'minor' }] });
    const profile = profileOf(context, [panel]);
    const data = dataOf(panel, context)!;
    const { rows, ticks, beside } = panel.view?.model?.(data, {
      profile: { ...profile, token: '000000' },
      query: {},
      amendments: {},
    }) as {
      rows: { id: string; what: string; other: string | null }[];
      ticks: unknown[];
      beside: { from: string; until: string };
    };
    expect(rows.map(({ id, what, other }) => [id, what, other])).to.deep.equal([
      ['h1', 'event loop blocked by GET /reports/daily, in buildReport', 'abc123'],
      ['gc1', 'garbage collection, minor', null],
      ['h2', 'event loop blocked here, in buildReport', null],
      ['h3', 'event loop blocked', null],
    ]);
    expect(ticks).to.have.length.within(2, 8);
    expect(Date.parse(beside.until) - Date.parse(beside.from)).to.equal(2300);
  });

  it('lists the longest of many, which a finding may lead to', () => {
    const blocks = Array.from({ length: 200 }, (_, index) => ({
      startMs: index,
      durationMs: index === 170 ? 90 : 11,
    }));
    const context = contextOf({ blocks, collections: [] });
    const { rows, left } = panel.view?.model?.(dataOf(panel, context)!, {
      profile: profileOf(context, [panel]),
      query: {},
      amendments: {},
    }) as { rows: { id: string; startMs: number }[]; left: number };
    expect(rows).to.have.length(60);
    expect(rows.at(-1)).to.deep.include({ id: 'h171', startMs: 170 });
    expect(left).to.equal(140);
  });
});
