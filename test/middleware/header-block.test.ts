import { expect } from 'chai';
import { createBlockReader } from '../../app/middleware/header-block.ts';

function blockOf(...lines: string[]): string {
  return ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
}

describe('the header block of an answer', () => {
  it('is read in order and case, with colons and spaces in values, and nothing of what is no header', () => {
    const read = createBlockReader();
    const block = blockOf(
      'X-A: 1',
      'x-a:2',
      'Date: Fri, 20 Nov 2026 18:49:54 GMT',
      'X-Empty: ',
      ': none',
      'none',
    );
    const expected = ['X-A', '1', 'x-a', '2', 'Date', 'Fri, 20 Nov 2026 18:49:54 GMT', 'X-Empty', ''];
    for (let time = 0; time < 3; time++) expect(read(block)).to.deep.equal(expected);
    expect(read('')).to.deep.equal([]);
    expect(read('HTTP/1.1 200 OK\r\n\r\n')).to.deep.equal([]);
    expect(read('HTTP/1.1 200 OK\r\nX-A: 1')).to.deep.equal(['X-A', '1']);
  });

  it('is told from the one before, whatever was added, dropped, moved or prolonged', () => {
    const read = createBlockReader();
    const lines = ['X-A: 1', 'X-B: 2', 'X-C: 3'];
    const others = [
      lines,
      ['X-A: 1', 'X-C: 3'],
      ['X-A: 12', 'X-B: 2', 'X-C: 3'],
      ['X-B: 2', 'X-A: 1', 'X-C: 3'],
      ['X-A: 1', 'X-AB: 0', 'X-B: 2', 'X-C: 3', 'X-D: 4'],
      ['x-a: 1'],
    ];
    for (let time = 0; time < 30; time++) {
      const given = others[(time * 7) % others.length] ?? [];
      expect(read(blockOf(...given))).to.deep.equal(given.flatMap((line) => line.split(': ')));
    }
  });
});
