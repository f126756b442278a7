import { expect } from 'chai';
import { inspect } from 'node:util';
import { errorInBody, errorInLogs } from '../../app/panels/exception/sent-error.ts';
import type { ResponseFact } from '../../app/profiler/record/facts.ts';
import { cpuMsOf } from '../support/waiting.ts';

const FRAMES = ['    at price (/srv/shop/prices.js:4:9)', '    at async show (/srv/shop/index.js:12:3)'];
const STACK = ['TypeError: a "price"', 'is missing', ...FRAMES].join('\n');

function sent(body: string, contentType: string, status = 500): Error | null {
  const response: ResponseFact = {
    status,
    statusMessage: '',
    rawHeaders: ['Content-Type', contentType],
    headersAtMs: 1,
    bodyBytes: body.length,
    preview: Buffer.from(body),
    truncated: false,
    outcome: 'finished',
  };
  return errorInBody(response);
}

const asHtml = (text: string): string =>
  text.replaceAll('"', '&quot;').replaceAll('\n', '<br>').replaceAll('  ', ' &nbsp;');

describe('the error in the body of a 5xx', () => {
  for (const [what, body, type] of [
    [
      'JSON',
      JSON.stringify({ error: { code: -32603, data: { stack: STACK, path: 'a' } } }),
      'application/json',
    ],
    ['plain text', `${STACK}\n`, 'text/plain; charset=utf-8'],
    ['a page', `<html><body><h1>Oops</h1><pre>${asHtml(STACK)}</pre></body></html>`, 'text/html'],
  ] as const)
    it(`is read from ${what}`, () => {
      const error = sent(body, type);
      expect(error?.name).to.equal('TypeError');
      expect(error?.message.startsWith('a "price"')).to.equal(true);
      expect(
        error?.stack
          ?.split('\n')
          .slice(-2)
          .map((line) => line.trim()),
      ).to.deep.equal(FRAMES.map((line) => line.trim()));
    });

  it('is read from what a truncated preview has of it', () => {
    const body = JSON.stringify({ stack: STACK });
    for (let end = body.indexOf('index.js:12:3') - 30; end < body.length; end++)
      expect(sent(body.slice(0, end), 'application/json')?.stack, String(end)).to.contain('prices.js:4:9');
  });

  it('is none in another status, in other text, and in what is no text', () => {
    const body = JSON.stringify({ stack: STACK });
    expect(sent(body, 'application/json', 400)).to.equal(null);
    expect(sent('{"error":"at 12:30:00 it was closed"}', 'application/json')).to.equal(null);
    expect(sent('look\n    at the page', 'text/plain')).to.equal(null);
    expect(sent('{"a":"\\n    at b:1:1 ', 'application/json')).to.equal(null);
    expect(sent(body, 'application/octet-stream')).to.equal(null);
  });

  it('takes time in proportion to the length of a hostile body', () => {
    const cpuMs = cpuMsOf(() => {
      for (const part of ['"\\n    at ', '\\', '<br', ' at ', '&', '    at a:1:1\n', '\\\\"'])
        sent(`{"a":"\\n    at ${part.repeat(60_000)}`, 'application/json');
      for (const part of ['<', 'at :1', '    at a:1:1\n', '<a', ' at ', 'Aa: '])
        sent(part.repeat(60_000), 'text/html');
    });
    expect(cpuMs).to.be.below(10_000);
  });
});

describe('the error in a log line', () => {
  it('is the root cause of the last stack that was written as text', () => {
    const cause = new RangeError('inner\n[\n]');
    cause.stack = cause.stack?.replace('    at ', '    at Array.map (<anonymous>)\n    at ');
    const inspected = inspect({ error: new Error('outer', { cause }), url: '/' });
    const error = errorInLogs([
      { message: 'starts' },
      { message: `error: failed ${inspected}` },
      { message: 'ends' },
    ]);
    expect(error?.name).to.equal('RangeError');
    expect(error?.message).to.match(/^inner\s+\[\s+\]$/);
    expect(error?.stack?.split('\n')[4]).to.match(/sent-error\.test\.ts:\d+:\d+\)?$/);
  });

  it('is none without a stack', () => {
    expect(errorInLogs([{ message: 'two\nlines' }, { message: 'at 10:20:30' }])).to.equal(null);
  });
});
