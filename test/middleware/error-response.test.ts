import { expect } from 'chai';
import { responseOfError } from '../../app/middleware/error-response.ts';

function throwing(): never {
  throw new Error('no');
}

describe('the status of anything thrown', () => {
  const cases: [string, unknown, number][] = [
    ['status', Object.assign(new Error('x'), { status: 404 }), 404],
    ['statusCode', Object.assign(new Error('x'), { statusCode: 422 }), 422],
    ['status before statusCode', { status: 403, statusCode: 500 }, 403],
    ['statusCode where status is none', { status: 'x', statusCode: 409 }, 409],
    ['2xx', { status: 200 }, 500],
    ['3xx', { status: 302 }, 500],
    ['399', { status: 399 }, 500],
    ['599', { status: 599 }, 599],
    ['600', { status: 600 }, 500],
    ['a string', { status: '404' }, 500],
    ['a fraction', { status: 404.5 }, 500],
    ['NaN', { status: NaN }, 500],
    ['null', null, 500],
    ['undefined', undefined, 500],
    ['a number', 404, 500],
    ['text', 'oops', 500],
    ['a symbol', Symbol('s'), 500],
    ['a function', throwing, 500],
    ['a frozen object', Object.freeze({ status: 418 }), 418],
    ['a getter that throws', Object.defineProperty({ statusCode: 400 }, 'status', { get: throwing }), 400],
    [
      'a Proxy that throws',
      new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
      500,
    ],
    ['a revoked Proxy', (() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy; })(), 500], // prettier-ignore
    ['an object without prototype', Object.create(null), 500],
  ];
  for (const [name, thrown, status] of cases) {
    it(`${name}: ${status}`, () => {
      expect(responseOfError(thrown).status).to.equal(status);
    });
  }
});

describe('the message of anything thrown', () => {
  it('is always a text of bounded length', () => {
    const strange = [
      null,
      undefined,
      7n,
      Symbol('s'),
      {},
      [],
      Object.create(null),
      { message: 5 },
      { toString: throwing },
    ];
    for (const thrown of strange) expect(responseOfError(thrown).message).to.be.a('string');
    expect(responseOfError(new Error('x'.repeat(10_000_000))).message.length).to.be.lessThan(10_100);
    expect(responseOfError('plain').message).to.equal('plain');
  });
});

describe('the headers of an error', () => {
  it('stay when they are its own to set', () => {
    const headers = { Allow: 'GET', 'WWW-Authenticate': ['Basic', 'Bearer'], 'retry-after': 5 };
    expect(responseOfError({ headers }).headers).to.deep.equal([
      ['allow', 'GET'],
      ['www-authenticate', ['Basic', 'Bearer']],
      ['retry-after', '5'],
    ]);
  });

  it('are left out when they frame the answer, describe its content or are no headers', () => {
    const headers = {
      'Content-Length': '1',
      'content-type': 'text/plain',
      'Transfer-Encoding': 'chunked',
      connection: 'keep-alive',
      'set-cookie': 'a=b',
      'x-debug-token': 'ffffff',
      'x-previous-debug-token': 'ffffff',
      'cache-control': 'public',
      'bad name': 'x',
      'x-split': 'a\r\nb: c',
      'x-object': {},
      'x-list': ['a', {}],
      'x-null': null,
      'x-long': 'x'.repeat(9000),
    };
    expect(responseOfError({ headers }).headers).to.deep.equal([]);
    expect(responseOfError({ headers: 'text' }).headers).to.deep.equal([]);
    expect(responseOfError({ headers: new Proxy({}, { ownKeys: throwing }) }).headers).to.deep.equal([]);
    expect(
      responseOfError({ headers: Object.defineProperty({}, 'x', { enumerable: true, get: throwing }) })
        .headers,
    ).to.deep.equal([]);
  });
});
