import { expect } from 'chai';
import { createLine, type Line } from '../../app/profiler/waiting-line.ts';

/** A line of those who are nothing but their token. */
function lineOf(tokens: readonly string[]): Line<string> {
  const line = createLine<string>((token) => token);
  for (const token of tokens) line.add(token, token);
  return line;
}

function tokensOf(line: Line<string>): (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  for (let place = line.next(); place !== -1; place = line.next(place + 1)) tokens.push(line.at(place));
  return tokens;
}

describe('line of waiting profiles', () => {
  it('keeps the order, whoever leaves from the middle', () => {
    const line = lineOf(['a', 'b', 'c', 'd']);
    line.remove(line.find('b'));
    expect(tokensOf(line)).to.deep.equal(['a', 'c', 'd']);
    expect(line.size).to.equal(3);
    expect(line.find('b')).to.equal(-1);
    expect(line.at(line.find('c'))).to.equal('c');
  });

  it('finds tokens that look like numbers or like what every object has', () => {
    const tokens = ['zz', '10', '9', '__proto__', 'constructor'];
    const line = lineOf(tokens);
    expect(tokensOf(line)).to.deep.equal(tokens);
    expect(line.find('__proto__')).to.equal(3);
    expect(lineOf([]).find('constructor')).to.equal(-1);
  });

  it('gives each the place behind the one before, also when many have left', () => {
    const line = lineOf([]);
    const waiting: string[] = [];
    for (let number = 0; number < 5000; number++) {
      const token = `t${number}`;
      expect(line.add(token, token)).to.equal(number);
      expect(line.last).to.equal(number);
      waiting.push(token);
      if (waiting.length > 700) for (const gone of waiting.splice(0, 1)) line.remove(line.find(gone));
    }
    expect(tokensOf(line)).to.deep.equal(waiting);
    expect(waiting.map((token) => line.at(line.find(token)))).to.deep.equal(waiting);
    expect(line.at(line.find('t10'))).to.equal(undefined);
  });

  it('goes on at the next one where a place is empty', () => {
    const line = lineOf(['a', 'b', 'c']);
    line.remove(1);
    expect(line.at(1)).to.equal(undefined);
    expect(line.next(1)).to.equal(2);
    expect(line.next(3)).to.equal(-1);
    for (const place of [0, 2]) line.remove(place);
    expect(line.next()).to.equal(-1);
    expect(line.size).to.equal(0);
  });

  it('keeps the place of one that takes another form', () => {
    const tokens = ['a', 'b', 'c'];
    const line = createLine<string | number>((item) => (typeof item === 'number' ? 'b' : item));
    for (const token of tokens) line.add(token, token);
    line.replace(1, 7);
    expect(line.at(line.find('b'))).to.equal(7);
    expect(line.size).to.equal(3);
    line.remove(1);
    expect(line.find('b')).to.equal(-1);
    expect(line.find('c')).to.equal(2);
  });
});
