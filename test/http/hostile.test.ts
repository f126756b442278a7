/**
 * Properties under hostile input: no 5xx, no hang, every answer dressed as the contract says, and the connection framed
 * right behind it. Mutated requests come from a seeded generator, so that a failure can be run again.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Express } from 'express';
import { echo, startHttpApp } from '../support/http-app.ts';
import type { HttpApp } from '../support/http-app.ts';
import { exchange, head } from '../support/raw-http.ts';
import type { Exchange } from '../support/raw-http.ts';
import { createRandom, foundByFuzz, mutate, problemOf, SEEDS } from '../support/fuzz.ts';
import { until } from '../support/waiting.ts';

function addRoutes(app: Express): void {
  app.get('/ok', echo).post('/ok', echo);
  app.get('/slash/', echo);
  app.get('/item/:id', echo);
}

/** Two lengths of one body, in every spelling that some server somewhere takes for one of them. */
const CODINGS = ['chunked', 'Chunked', ' chunked', '\tchunked', 'identity', 'chunked, identity', 'identity, chunked', 'gzip, chunked', 'chunked,chunked', 'xchunked', '"chunked"', 'chunked;x=1', '', 'chunked\x0b', 'chun\0ked']; // prettier-ignore
const LENGTHS = [null, '0', '4', '05', '+5', '-5', '5,5', '5, 6', '0x5', '5e0', '99999999999999999999', '1.0', '', 'NaN', '5\r\nContent-Length: 6']; // prettier-ignore
const HOSTS = ['', 'a b', '<script>', 'a,b', 'a/b', 'a?b', 'a#b', 'a@b', 'u:p@a', 'a:', 'a:0', 'a:99999', 'a:-1', 'a:80:80', '[::1]', '[zz]', '[::1', '::1', 'a..b', '.a', '-a', '%61', 'a\\b', 'a\0b', '\x80', '//evil.test', 'http://evil', 'a\tb', 'a;b', '$(x)', '{{x}}', '__proto__', 'a'.repeat(300), 'a\r\nHost: b', 'a\r\nHost: a']; // prettier-ignore
const TARGETS = ['*', '//', '//evil.test', '/\\evil.test', '/%2f/evil.test', '/%5cevil.test', '/..', '/%2e%2e/x', 'http://evil.test/ok', 'https://a:b@evil/x', 'ftp://x', 'http://', 'javascript:alert(1)', 'x', '?a', '#', '/x#y', '/%', '/%zz', '/%00', '/%0d%0aX:1', '/%u0041', '/%c0%af', '/%ff%fe', '/%ed%a0%80', '/\x80\xff', '/<script>', '/"onx=', '/a b', '/a\0b', `/${'a'.repeat(9000)}`, `/${'a'.repeat(17_000)}`, `/ok?${'a=b&'.repeat(3000)}`, `/ok?${'a['.repeat(3000)}`, '/item/%zz', '/item/__proto__', '/slash?//evil.test', '//slash', '/slash/../..//evil.test']; // prettier-ignore
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PURGE', 'FOO', 'get', 'G\0T', '<b>', '__proto__'];

function garbage(): string[] {
  const inner = '0\r\n\r\nGET /ok HTTP/1.1\r\nHost: a\r\n\r\n';
  const bodies = CODINGS.flatMap((coding) =>
    LENGTHS.map((length) => {
      const field = length === null ? '' : `Content-Length: ${length}\r\n`;
      return `POST /nowhere HTTP/1.1\r\nHost: a\r\n${field}Transfer-Encoding: ${coding}\r\n\r\n${inner}`;
    }),
  );
  const hosts = HOSTS.flatMap((host) => [
    head('GET /ok', {}, host),
    head('GET /slash', { 'X-Forwarded-Host': host }),
  ]);
  const targets = TARGETS.flatMap((target) => METHODS.map((method) => head(`${method} ${target}`)));
  return [...bodies, ...hosts, ...targets];
}

describe('hostile requests', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({ after: addRoutes, linger: { bytes: 1e6, ms: 200 } });
  });
  after(() => app.close());

  function check(request: string, result: Exchange): void {
    expect(problemOf(result), JSON.stringify(request)).to.equal(null);
  }

  it('are answered within bounds: 600 mutations of 9 requests', async () => {
    const random = createRandom(20261120);
    const requests = [...foundByFuzz(), ...Array.from({ length: 600 }, () => mutate(random))];
    for (let i = 0; i < requests.length; i += 60) {
      const batch = requests.slice(i, i + 60);
      // The writing side is ended: what is incomplete is refused at once instead of at its timeout.
      const results = await Promise.all(
        batch.map((request) => exchange(app.port, [request], { halfClose: true })),
      );
      batch.forEach((request, index) => {
        const result = results[index];
        if (result !== undefined) check(request, result);
      });
    }
    const { responses } = await exchange(app.port, [head('GET /ok')], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
    expect(
      app.logged.filter(
        (error) => !(error instanceof Error && /aborted|closed|timeout|Parse Error/i.test(error.message)),
      ),
    ).to.deep.equal([]);
  });

  it('of every kind are answered within bounds, and lead nowhere else', async () => {
    const requests = garbage();
    expect(requests.length).to.be.greaterThan(600);
    for (let i = 0; i < requests.length; i += 60) {
      await Promise.all(
        requests.slice(i, i + 60).map(async (request) => {
          const methods = [request.split(' ')[0] ?? ''];
          const result = await exchange(app.port, [request], { halfClose: true, methods });
          check(request, result);
          for (const { headers } of result.responses) {
            const forwarded = /X-Forwarded-Host: ([^\r\n]*)/.exec(request)?.[1];
            if (headers.location !== undefined && forwarded === undefined)
              expect(headers.location, request).to.match(/^http:\/\/[a-z.]+(?::\d+)?\/slash\//);
          }
        }),
      );
    }
    const { responses } = await exchange(app.port, [head('GET /ok')], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
  });

  it('are answered the same byte by byte', async () => {
    const statusesOf = ({ responses }: Exchange): string => responses.map(({ status }) => status).join();
    await Promise.all(
      SEEDS.map(async (request) => {
        // A connection that is closed while its client still sends is reset, and the response may be lost with it, either way.
        await until(async () => {
          const whole = statusesOf(await exchange(app.port, [request], { halfClose: true }));
          const split = await exchange(app.port, request.split(''), { halfClose: true, pauseMs: 1 });
          return whole !== '' && statusesOf(split) === whole;
        }, `the same response for ${request}`);
      }),
    );
  });

  it('leave the framing right: pipelined good and bad answers come in order', async () => {
    const good = head('GET /ok');
    const bad = [
      head('GET /nothing'),
      head('PUT /ok'),
      head('GET /item/%zz'),
      head('GET /ok', {}, 'a b'),
      `${head('POST /nothing', { 'content-length': '5' })}abcde`,
      `${head('POST /ok', { 'content-type': 'application/json', 'content-length': '2' })}{]`,
      `${head('PUT /ok', { 'transfer-encoding': 'chunked' })}2\r\nab\r\n0\r\n\r\n`,
      head('GET /slash'),
      head('HEAD /nothing'),
    ];
    const methods = bad.flatMap((request) => [request.split(' ')[0] ?? '', 'GET']);
    const { responses } = await exchange(app.port, [bad.map((request) => request + good).join('')], {
      count: bad.length * 2,
      methods,
    });
    expect(responses.map(({ status }) => status)).to.deep.equal(
      [404, 405, 400, 400, 404, 400, 405, 301, 404].flatMap((status) => [status, 200]),
    );
  });

  it('can not smuggle a request inside a body', async () => {
    const inner = head('GET /ok');
    const requests = [
      `${head('POST /nothing', { 'content-length': String(inner.length) })}${inner}`,
      `${head('POST /nothing', { 'transfer-encoding': 'chunked', 'content-length': '4' })}0\r\n\r\n${inner}`,
      `${head('POST /nothing', { 'transfer-encoding': ' chunked', 'Transfer-Encoding': 'identity' })}0\r\n\r\n${inner}`,
      `${head('POST /nothing', { 'content-length': '0, 0' })}${inner}`,
      `${head('POST /nothing', { 'content-length': '+4' })}${inner}`,
    ];
    for (const request of requests) {
      const { responses } = await exchange(app.port, [request], { halfClose: true });
      expect(
        responses.map(({ status }) => status).filter((status) => status < 400),
        request,
      ).to.deep.equal([]);
    }
  });

  it('leave no sockets behind when clients reset half-way', async () => {
    for (let i = 0; i < 100; i++) {
      const socket = connect(app.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const request = SEEDS[i % SEEDS.length] ?? '';
      socket.write(request.slice(0, Math.floor((request.length * (i % 10)) / 10)));
      await sleep(1);
      socket.resetAndDestroy();
    }
    const open = (): Promise<number> =>
      new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));
    await until(async () => (await open()) === 0, 'no socket is open');
  });

  it('with prototype names everywhere pollute nothing', async () => {
    const body = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const form = '__proto__[polluted]=1&constructor[prototype][polluted]=1&a.__proto__.polluted=1';
    const requests = [
      head('GET /ok?__proto__[polluted]=1&__proto__=1&constructor=2', {
        __proto__x: '1',
        ['__proto__']: '1',
        constructor: '2',
        hasOwnProperty: '3',
      }),
      `${head('POST /ok', { 'content-type': 'application/json', 'content-length': String(body.length) })}${body}`,
      `${head('POST /ok', { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(form.length) })}${form}`,
      'GET /ok HTTP/1.1\r\nHost: a\r\n__proto__: x\r\n\r\n',
    ];
    for (const request of requests) {
      const { responses } = await exchange(app.port, [request], { count: 1 });
      expect(responses[0]?.status, request).to.equal(200);
    }
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });
});
