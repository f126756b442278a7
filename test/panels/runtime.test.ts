import { expect } from 'chai';
import { runtimePanel } from '../../app/panels/runtime/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
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
    const { sections } = panel.rows!(dataOf(panel, context)!, {
      profile: { ...profile, token: '000000' },
      amendments: {},
    });
    const shown = sections.filter(({ id }) => id === 'blocked' || id === 'collections');
    expect(
      shown.flatMap(({ rows }) => rows.map(({ id, text, detail }) => [id, text, detail?.()])),
    ).to.deep.equal([
      [
        'h1',
        'event loop blocked by GET /reports/daily, in buildReport',
        [{ title: 'Blocked by', link: { label: 'GET /reports/daily', token: 'abc123' } }],
      ],
      ['h2', 'event loop blocked here, in buildReport', undefined],
      ['h3', 'event loop blocked', undefined],
      ['gc1', 'minor', undefined],
    ]);
  });

  it('leads to the requests that ran meanwhile', () => {
    const context = contextOf({ concurrent: 3 });
    const presented = panel.rows!(dataOf(panel, context)!, {
      profile: profileOf(context, [panel]),
      amendments: {},
    });
    expect(presented.lead?.join(' ')).to.include('include 2 other requests that overlapped with it.');
    const row = presented.sections.at(-1)?.rows.find(({ label }) => label === 'Overlapping requests');
    const { from, until } = row?.detail?.()[0]?.link?.search ?? {};
    expect(Date.parse(until!) - Date.parse(from!)).to.equal(2300);
  });
});
