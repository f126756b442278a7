import { expect } from 'chai';
import { createLearnedMasks } from '../../app/profiler/redact-learned.ts';
import { copyText, createMemory, createTextMemory } from '../../app/profiler/redact-memory.ts';

describe('what masking remembers', () => {
  it('takes a text when it is given for the second time', () => {
    const memory = createTextMemory();
    memory.add('a text that comes once');
    expect(memory.has('a text that comes once')).to.equal(false);
    memory.add('a text that comes once');
    expect(memory.has('a text that comes once')).to.equal(true);
  });

  it('takes no other text for one that it holds', () => {
    const memory = createTextMemory();
    const text = (middle: string): string => `${'a'.repeat(100)}${middle}${'a'.repeat(101)}`;
    memory.add(text('x'));
    memory.add(text('x'));
    // Alike in every character that is sampled.
    expect(memory.has(text('y'))).to.equal(false);
    expect(memory.has(text('x'))).to.equal(true);
  });

  it('stays within its bytes, whatever texts come', () => {
    const memory = createTextMemory();
    for (const length of [64 * 1024, 16_000, 5000]) {
      for (let number = 0; number < 1500; number++) {
        const text = `${number} ${'x'.repeat(length)} ${number}`;
        memory.add(text);
        memory.add(text);
      }
      expect(memory.bytes).to.be.lessThanOrEqual(4 * 1024 * 1024);
    }
    expect(memory.bytes).to.be.greaterThan(1024 * 1024);
  });

  it('copies texts as they are', () => {
    for (const text of [
      'short',
      'a text of Latin letters: ÿ',
      'текст подлиннее тринадцати',
      'a lone half \ud800 of two',
    ])
      expect(copyText(text)).to.equal(text);
  });

  it('keeps what is asked for again, and two generations in all', () => {
    const memory = createMemory<number>(10);
    memory.set('kept', 1);
    for (let number = 0; number < 100; number++) {
      memory.set(`other ${number}`, number);
      expect(memory.get('kept')).to.equal(1);
    }
    const left = Array.from({ length: 100 }, (_, number) => memory.get(`other ${number}`)).filter(
      (value) => value !== undefined,
    );
    expect(left.length).to.be.within(1, 20);
  });

  it('has one mask for one set of values, another for every other', () => {
    const masks = createLearnedMasks();
    const mask = masks.maskOf(new Set(['first-value', 'second-value']));
    expect(masks.maskOf(new Set(['first-value', 'second-value']))).to.equal(mask);
    for (const values of [
      ['first-value', 'second-valu'],
      ['first-valuesecond-value'],
      ['first-value12:second-value'],
    ])
      expect(masks.maskOf(new Set(values))).to.not.equal(mask);
    expect(mask?.('a first-value b second-value')).to.equal('a •••••• b ••••••');
    expect(masks.maskOf(new Set(['short']))).to.equal(null);
  });
});
