import { expect } from 'chai';
import { readHeaderBlock } from '../../app/middleware/header-block.ts';

function blockOf(...lines: string[]): string {
  return ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
}

describe('the header block of an answer', () => {
  it('is read in order and case, with colons and spaces in values, and nothing of what is no header', () => {
    const block = blockOf(
      'X-A: 1',
      'x-a:2',
      'Date: Fri, 20 Nov 2026 18:49:54 GMT',
      'X-Empty: ',
      ': none',
      'none',
    );
    const expected = ['X-A', '1', 'x-a', '2', 'Date', 'Fri, 20 Nov 2026 18:49:54 GMT', 'X-Empty', ''];
    expect(readHeaderBlock(block)).to.deep.equal(expected);
    expect(readHeaderBlock('')).to.deep.equal([]);
    expect(readHeaderBlock('HTTP/1.1 200 OK\r\n\r\n')).to.deep.equal([]);
    expect(readHeaderBlock('HTTP/1.1 200 OK\r\nX-A: 1')).to.deep.equal(['X-A', '1']);
  });
});
