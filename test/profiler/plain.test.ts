import { expect } from 'chai';
import { truncateText, toPlain } from '../../app/profiler/plain.ts';

describe('plain values', () => {
  it('keep their JSON form', () => {
    const value = { a: [1, 'b', true, null], c: { d: 1.5 } };
    expect(JSON.parse(JSON.stringify(toPlain(value)))).to.deep.equal(value);
  });

  it('say what JSON has no word for', () => {
    const value = toPlain({
      u: undefined,
      n: NaN,
      i: -Infinity,
      b: 10n,
      s: Symbol('x'),
      f: function named() {
        return 1;
      },
      d: new Date(0),
      r: /a/g,
      m: new Map([['k', 1]]),
      t: new Set([1]),
      p: Promise.resolve(),
      raw: Buffer.from('abc'),
    });
    expect(JSON.parse(JSON.stringify(value))).to.deep.equal({
      u: '[undefined]',
      n: 'NaN',
      i: '-Infinity',
      b: '10n',
      s: 'Symbol(x)',
      f: '[function named]',
      d: '1970-01-01T00:00:00.000Z',
      r: '/a/g',
      m: { k: 1 },
      t: [1],
      p: '[Promise]',
      raw: '[Buffer, 3 bytes]',
    });
  });

  it('run no code of the application: getters are named, toJSON is not called', () => {
    let ran = 0;
    const value = {
      get secret() {
        ran++;
        return 1;
      },
      toJSON() {
        ran++;
        return 2;
      },
    };
    expect(toPlain(value)).to.have.property('secret', '[getter]');
    expect(ran).to.equal(0);
  });

  it('end on cycles, depth, width and length, and count what was cut', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(toPlain(cycle)).to.have.property('self', '[circular]');
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = { deep };
    expect(JSON.stringify(toPlain(deep))).to.contain('not followed');
    expect(toPlain(Array.from({ length: 150 }, (_, i) => i)))
      .to.have.length(101)
      .and.include('… 50 more');
    expect(toPlain('x'.repeat(5000))).to.match(/… \(904 more characters\)$/);
    expect(truncateText('abc', 3)).to.equal('abc');
  });

  it('survive hostile objects', () => {
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
        getPrototypeOf: () => {
          throw new Error('no');
        },
      },
    );
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    const nameless = new Proxy(() => 1, {
      getOwnPropertyDescriptor: () => {
        throw new Error('no');
      },
    });
    revoke();
    const fakeDate = Object.create(Date.prototype) as Date;
    const proto = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    const text = JSON.stringify(
      toPlain({ proxy, revoked, nameless, fakeDate, proto, nul: '\0', lone: '\ud800' }),
    );
    expect(text).to.contain('"proxy":"[Object]","revoked":"[Object]","nameless":"[function anonymous]"');
    expect(text).to.contain('"__proto__":{"polluted":true}');
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined);
  });

  it('show an error with its own properties', () => {
    const error = Object.assign(new TypeError('bad'), { code: 'E1', extra: { a: 1 } });
    expect(JSON.parse(JSON.stringify(toPlain({ error })))).to.deep.equal({
      error: { class: 'TypeError', message: 'bad', code: 'E1', extra: { a: 1 } },
    });
  });
});
