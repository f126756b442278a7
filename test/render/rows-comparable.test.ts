import { expect } from 'chai';
import type { Presentation } from '../../app/profiler/read/rows.ts';
import { rowsComparable } from '../../app/render/rows-comparable.ts';

describe('what two profiles are compared by', () => {
  it('has no numbers of marks, because each profile has its own', () => {
    const presentation = (first: number, second: number): Presentation => ({
      sections: [
        {
          id: 'calls',
          title: 'Calls',
          rows: [
            { key: `GET /a?token=[masked ${first}, string]`, number: 2 },
            { key: `GET /a?token=[masked ${second}, string]`, number: 3 },
          ],
        },
        {
          id: 'headers',
          title: 'Headers',
          values: 'request header',
          rows: [{ label: 'authorization', text: `Bearer [masked ${second}, string]` }],
        },
      ],
    });
    const { work, values } = rowsComparable(presentation(1, 2));
    expect(work).to.deep.equal([
      {
        section: 'Calls',
        key: 'GET /a?token=[masked]',
        label: 'GET /a?token=[masked]',
        times: 2,
        ms: 5,
      },
    ]);
    expect(values?.[0]?.value).to.equal('Bearer [masked]');
    expect(rowsComparable(presentation(7, 4))).to.deep.equal(rowsComparable(presentation(1, 2)));
  });
});
