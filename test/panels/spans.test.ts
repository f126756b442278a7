/** The panel of spans: its rows, their depth, and the timeline. */
import { expect } from 'chai';
import { spansPanel } from '../../app/panels/spans/index.ts';
import { showPanel } from '../../app/testing.ts';

const span = { startMs: 1, durationMs: 2, inside: null, error: null, caller: 'src/app.ts:3' };

describe('the panel of spans', () => {
  it('lists them with their depth, their failure and the time of the outer ones', () => {
    const { rows } = showPanel(spansPanel, (context) => {
      context.add('span', { ...span, name: 'outer', durationMs: 9 });
      context.add('span', { ...span, name: 'inner', inside: 0, error: 'Error: <b>' });
      context.add('span', { ...span, name: 'open', durationMs: null });
    });
    expect(rows?.figures?.map(({ value }) => value)).to.deep.equal([3, 9]);
    expect(rows?.sections?.[0]?.rows.map(({ label, depth, tone }) => [label, depth, tone])).to.deep.equal([
      ['outer', 0, 'plain'],
      ['inner', 1, 'bad'],
      ['open', 0, 'plain'],
    ]);
  });
});
