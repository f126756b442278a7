import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { textOf, valueLine } from '../../app/view-helpers/value-line.ts';
import { cpuMsOf } from '../support/waiting.ts';

const shape = (value: Json, longest = 700): string => textOf(valueLine(value, { longest, isShape: true }));

describe('a value in one line', () => {
  it('shows the objects of a list that differ', () => {
    const of = (title: string, speaker: string) => ({ title, speaker: { name: speaker }, tags: [1] });
    expect(shape({ events: [of('SQL', 'Ann'), of('CSS', 'Bo')] })).to.equal(
      '{ events: [2 items: { title: "SQL", speaker: { name: "Ann" }, tags: [1] }, { title: "CSS", speaker: { name: "Bo" }, tags: [1] }] }',
    );
    expect(shape([{ id: 1 }, { id: 1 }, { id: 1 }])).to.equal('[3 × { id: 1 }]');
  });

  it('shows the first five and the last one, and no more characters than it may', () => {
    const many = Array.from({ length: 9 }, (_, id) => ({ id }));
    expect(shape(many)).to.equal(
      '[9 items: { id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, … 3 more, { id: 8 }]',
    );
    expect(shape(many, 80)).to.equal(
      '[9 items: { id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }, … 4 more, { id: 8 }]',
    );
    expect(shape(many, 30)).to.have.length.below(40);
    expect(shape(Array.from({ length: 12 }, (_, at) => at))).to.equal(
      '[0, 1, 2, 3, 4, 5, 6, 7, … 3 more, 11]',
    );
    const beginning = textOf(valueLine(many, { longest: 700, isShape: true, isBeginning: true }));
    expect(beginning).to.equal('[9 items: { id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, …]');
  });

  it('takes no longer for lists within lists', () => {
    let deep: Json = [];
    for (let depth = 0; depth < 30; depth++) deep = [{}, {}, {}, {}, {}, {}, {}, deep];
    expect(cpuMsOf(() => shape(deep, 400))).to.be.lessThan(200);
  });
});
