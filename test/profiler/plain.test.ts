import { expect } from 'chai';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { truncateText, toPlain } from '../../app/profiler/record/plain.ts';

describe('plain values', () => {
  it('keep their JSON form', () => {
    const value = { a: [1, 'b', true, null], c: { d: 1.5 } };
    expect(JSON.parse(JSON.stringify(toPlain(value)))).to.deep.equal(value);
  });

  it('are short and quick to write, whatever their kind', () => {
    const values = [
      2n ** 3_000_000n,
      -(2n ** 3_000_000n),
      Symbol('s'.repeat(1e6)),
      new RegExp('r'.repeat(1e6)),
    ];
    expect(JSON.stringify(toPlain(values)).length).to.be.below(10_000);
    expect((toPlain(values) as unknown[]).slice(0, 2)).to.deep.equal([
      '[bigint, not read]',
      '[bigint, not read]',
    ]);
    expect(toPlain([12n, -12n])).to.deep.equal(['12n', '-12n']);
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

  it('are those of a row, whatever its ORM holds beside them', () => {
    class Article {
      readonly isNewRecord = false;
      readonly dataValues: object;
      readonly _previousDataValues = {};
      constructor(values: object) {
        this.dataValues = values;
      }
    }
    class Post {
      readonly $__ = {};
      readonly _doc = { id: 2 };
    }
    const author = new Article({ name: 'Ann' });
    expect(toPlain({ rows: [new Article({ id: 1, author }), new Post()] })).to.deep.equal({
      rows: [{ id: 1, author: { name: 'Ann' } }, { id: 2 }],
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
    let entered = 0;
    const note = (): never => {
      entered++;
      throw new Error('no');
    };
    const traps = { get: note, ownKeys: note, getPrototypeOf: note, getOwnPropertyDescriptor: note };
    const proxy = new Proxy({}, traps);
    const { proxy: revoked, revoke } = Proxy.revocable([], {});
    const call = new Proxy(() => 1, traps);
    const inherits = Object.create(proxy) as object;
    const list = Object.defineProperty([1, 2], 0, { get: note });
    revoke();
    const fakeDate = Object.create(Date.prototype) as Date;
    const proto = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    const text = JSON.stringify(
      toPlain({ proxy, revoked, call, inherits, list, fakeDate, proto, nul: '\0', lone: '\ud800' }),
    );
    const unread = '[Proxy, not read]';
    expect(JSON.parse(text)).to.include({ proxy: unread, revoked: unread, call: unread, fakeDate: '[Date]' });
    expect(text).to.contain('"list":["[getter]",2]');
    expect(entered).to.equal(0);
    expect(text).to.contain('"__proto__":{"polluted":true}');
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined);
  });

  it('show an error with its own properties', () => {
    const error = Object.assign(new TypeError('bad'), { code: 'E1', extra: { a: 1 } });
    expect(JSON.parse(JSON.stringify(toPlain({ error })))).to.deep.equal({
      error: { class: 'TypeError', message: 'bad', code: 'E1', extra: { a: 1 } },
    });
  });

  it('show what objects of the platform hold, and the class of one that shows nothing', () => {
    let ran = 0;
    class Money {
      #cents = 5;
      get cents(): number {
        ran++;
        return this.#cents;
      }
    }
    class Address extends URL {}
    Object.defineProperty(Address.prototype, 'href', { get: () => ran++ });
    const form = new FormData();
    form.append('a', '1');
    form.append('a', '2');
    form.append('file', new File(['abc'], 'a.txt'));
    const value = toPlain({
      url: new URL('https://shop.test/items?page=1'),
      address: new Address('https://shop.test/'),
      query: new URLSearchParams('page=7'),
      headers: new Headers({ accept: 'text/csv' }),
      request: new Request('https://shop.test/a', { method: 'PUT' }),
      response: new Response('body', { status: 201 }),
      form,
      blob: new Blob(['abcd']),
      gone: new DOMException('gone', 'AbortError'),
      outer: new Error('outer', { cause: new TypeError('inner') }),
      money: new Money(),
      fake: Object.create(URL.prototype) as object,
      realm: runInNewContext('[new Date(0), new Map([["k", 1]]), new Set([1]), /a/]') as object,
      big: new (class Sized extends Map<string, number> {
        override get size(): number {
          ran++;
          return 9;
        }
      })([['k', 1]]),
    });
    expect(JSON.parse(JSON.stringify(value))).to.deep.equal({
      url: 'https://shop.test/items?page=1',
      address: 'https://shop.test/',
      query: { page: '7' },
      headers: { accept: 'text/csv' },
      request: { method: 'PUT', url: 'https://shop.test/a', headers: {} },
      response: {
        status: 201,
        url: '',
        headers: { 'content-type': 'text/plain;charset=UTF-8' },
      },
      form: { a: ['1', '2'], file: '[File a.txt, 3 bytes]' },
      blob: '[Blob, 4 bytes]',
      gone: { class: 'DOMException', name: 'AbortError', message: 'gone', code: 20 },
      outer: { class: 'Error', message: 'outer', cause: { class: 'TypeError', message: 'inner' } },
      money: '[Money]',
      fake: '[URL]',
      realm: ['1970-01-01T00:00:00.000Z', { k: 1 }, [1], '/a/'],
      big: { k: 1 },
    });
    expect(ran).to.equal(0);
  });

  it('holds no more of a long text than its beginning', () => {
    const before = process.memoryUsage().heapUsed;
    const held = Array.from({ length: 200 }, (_, at) => truncateText(String(at).padEnd(1e6, 'y'), 100));
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(process.memoryUsage().heapUsed - before).to.be.below(50e6);
    expect(held[7]).to.match(/^7y{99}… \(999900 more characters\)$/);
  });
});
