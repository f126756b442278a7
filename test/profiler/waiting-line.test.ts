import { expect } from 'chai';
import { createLine, type InLine } from '../../app/profiler/waiting-line.ts';

function item(token: string): InLine {
  return { token, place: -1 };
}

function tokensOf(line: { values(): Iterable<InLine> }): string[] {
  return [...line.values()].map(({ token }) => token);
}

describe('line of waiting profiles', () => {
  it('keeps the order, whoever leaves from the middle', () => {
    const line = createLine<InLine>();
    const [a, b, c, d] = [item('a'), item('b'), item('c'), item('d')] as const;
    for (const each of [a, b, c, d]) line.add(each);
    line.remove(b);
    expect(tokensOf(line)).to.deep.equal(['a', 'c', 'd']);
    expect(line.size).to.equal(3);
    expect(line.get('b')).to.equal(undefined);
    expect(line.get('c')).to.equal(c);
  });

  it('finds tokens that look like numbers or like what every object has', () => {
    const line = createLine<InLine>();
    for (const token of ['zz', '10', '9', '__proto__', 'constructor']) line.add(item(token));
    expect(tokensOf(line)).to.deep.equal(['zz', '10', '9', '__proto__', 'constructor']);
    expect(line.get('__proto__')?.token).to.equal('__proto__');
    expect(createLine().get('constructor')).to.equal(undefined);
  });

  it('gives each the place behind the one before, also when many have left', () => {
    const line = createLine<InLine>();
    const waiting: InLine[] = [];
    for (let number = 0; number < 5000; number++) {
      const next = item(`t${number}`);
      line.add(next);
      expect(next.place).to.equal(number);
      expect(line.last).to.equal(number);
      waiting.push(next);
      if (waiting.length > 700) for (const gone of waiting.splice(0, 1)) line.remove(gone);
    }
    expect(tokensOf(line)).to.deep.equal(waiting.map(({ token }) => token));
    expect(line.next(waiting[10]?.place)).to.equal(waiting[10]);
  });

  it('goes on at the next one where a place is empty', () => {
    const line = createLine<InLine>();
    const [a, b, c] = [item('a'), item('b'), item('c')] as const;
    for (const each of [a, b, c]) line.add(each);
    line.remove(b);
    expect(line.next(1)).to.equal(c);
    expect(line.next(3)).to.equal(undefined);
    for (const each of [a, c]) line.remove(each);
    expect(line.next()).to.equal(undefined);
    expect(line.size).to.equal(0);
  });
});
