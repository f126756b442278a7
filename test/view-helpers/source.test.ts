import { expect } from 'chai';
import { sourceHelpers } from '../../app/view-helpers/source.ts';
import { cpuMsOf } from '../support/waiting.ts';

/** `k:const`, one per coloured token; plain text is left out. */
function tokens(...lines: string[]): string[][] {
  const found = sourceHelpers.excerptLines({ from: 1, lines }, { line: null, column: null });
  return found.map((line) =>
    (line.tokens ?? []).filter(([kind]) => kind !== '').map(([kind, text]) => `${kind}:${text}`),
  );
}

describe('coloured source', () => {
  it('follows comments and templates over lines', () => {
    expect(tokens('/* one', 'two */ const a = `x', 'y` + 1')).to.deep.equal([
      ['c:/* one'],
      ['c:two */', 'k:const', 's:`x'],
      ['s:y`', 'd:1'],
    ]);
  });

  it('knows the end of a comment that began above', () => {
    expect(tokens(' * of which only the end is seen', ' */', 'const a = 1;')).to.deep.equal([
      ['c: * of which only the end is seen'],
      ['c: */'],
      ['k:const', 'd:1'],
    ]);
    expect(tokens('a * b', '/* c */')).to.deep.equal([[], ['c:/* c */']]);
  });

  it('loses no character', () => {
    const lines = [
      "it's `odd",
      '\\"',
      '/*',
      '',
      '  \t',
      'a"b',
      "'\\",
      'x'.repeat(300),
      '😀 = "ü"',
      '1e5.2_x',
    ];
    for (const line of lines) {
      const [found] = sourceHelpers.excerptLines({ from: 1, lines: [line] }, { line: 1, column: 3 });
      const text = found?.text ?? found?.tokens?.map(([, part]) => part).join('');
      expect(text).to.equal(line === '' ? ' ' : line);
    }
  });

  it('marks the line, and underlines the word its column points at', () => {
    const place = { line: 2, column: 9 };
    const [, hot] = sourceHelpers.excerptLines({ from: 1, lines: ['a', '  throw new Error(x);'] }, place);
    expect(hot?.mark).to.equal('hot');
    expect(hot?.tokens?.filter(([kind]) => kind === 'u')).to.deep.equal([['u', 'new Error']]);
  });

  it('underlines nothing where the column lies outside', () => {
    for (const column of [0, -1, 1000, null]) {
      const [line] = sourceHelpers.excerptLines({ from: 1, lines: ['abc'] }, { line: 1, column });
      expect(line?.tokens).to.deep.equal([['', 'abc']]);
    }
  });

  it('keeps to the lines asked for', () => {
    const excerpt = { from: 10, lines: ['a', 'b', 'c', 'd', 'e'] };
    const numbers = sourceHelpers
      .excerptLines(excerpt, { line: 12, column: 1 }, 1)
      .map(({ number }) => number);
    expect(numbers).to.deep.equal([11, 12, 13]);
  });

  it('takes no time over hostile lines', () => {
    const lines = ['/*'.repeat(150), '"\\'.repeat(150), 'a<'.repeat(150), '`'.repeat(300)];
    const cpuMs = cpuMsOf(() => {
      for (let round = 0; round < 100; round++) tokens(...lines);
    });
    expect(cpuMs).to.be.lessThan(1000);
  });
});
