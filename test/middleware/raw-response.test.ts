import { expect } from 'chai';
import { printRawResponse } from '../../app/middleware/refuse.ts';

describe('an answer on the bare socket', () => {
  const answer = {
    status: 400,
    html: '<h1>é</h1>',
    requestId: 'a\r\nX-Injected: 1',
    tokens: { token: 'abcdef', link: '/_profiler/abcdef\r\n\r\n<script>', childToken: null },
    bare: true,
  };

  it('can not be split by a value', () => {
    const [top = '', body] = printRawResponse(answer).toString('utf8').split('\r\n\r\n');
    expect(body).to.equal('<h1>é</h1>');
    const names = top
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]);
    expect(names).to.not.include('X-Injected');
    expect(top).to.include('x-debug-token: abcdef').and.include('content-length: 11');
    expect(names).to.not.include('x-previous-debug-token');
  });

  it('names statuses that Node does not know', () => {
    expect(printRawResponse({ ...answer, status: 499 }).toString('latin1')).to.match(
      /^HTTP\/1\.1 499 Error\r\n/,
    );
  });
});
