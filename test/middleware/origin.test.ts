import { expect } from 'chai';
import { createOriginResolver } from '../../app/middleware/origin.ts';
import type { ConnectionFacts } from '../../app/middleware/connection.ts';
import type { ResolvedOrigin } from '../../app/middleware/origin.ts';

const RANGES = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

type Headers = Record<string, string> | readonly string[];

function resolve(
  headers: Headers,
  facts: Partial<ConnectionFacts> = {},
  trustedHosts: string[] | null = null,
): ResolvedOrigin {
  const rawHeaders = Array.isArray(headers) ? (headers as string[]) : Object.entries(headers).flat();
  const connection = {
    rawHeaders,
    remoteAddress: '10.0.0.1',
    localAddress: '10.0.0.9',
    localPort: 3000,
    encrypted: false,
    httpVersion: '1.1',
    ...facts,
  };
  return createOriginResolver({ trustedProxies: RANGES, trustedHosts }).resolve(connection);
}

describe('the origin behind the ingress', () => {
  const ingress = {
    Host: 'internal:3000',
    'X-Request-ID': 'c1a5e2',
    'X-Real-IP': '203.0.113.7',
    'X-Forwarded-For': '203.0.113.7',
    'X-Forwarded-Host': 'app.example',
    'X-Forwarded-Port': '443',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Scheme': 'https',
    'X-Scheme': 'https',
  };

  it('comes from the eight headers of a trusted peer', () => {
    const { origin, requestId, receivedRequestId, refusedHost } = resolve(ingress);
    expect(origin).to.deep.equal({
      scheme: 'https',
      host: 'app.example',
      port: 443,
      origin: 'https://app.example',
      clientAddress: '203.0.113.7',
      chain: ['203.0.113.7', '10.0.0.1'],
      trusted: true,
      hostError: null,
    });
    expect([requestId, receivedRequestId, refusedHost]).to.deep.equal(['c1a5e2', null, null]);
  });

  it('ignores all eight from any other peer', () => {
    for (const remoteAddress of [
      '203.0.113.9',
      '::1',
      '172.32.0.1',
      '192.169.0.1',
      '11.0.0.1',
      '2001:db8::1',
      'fe80::1%eth0',
    ]) {
      const { origin, requestId, receivedRequestId } = resolve(ingress, { remoteAddress });
      expect(origin.trusted, remoteAddress).to.equal(false);
      expect(origin.origin, remoteAddress).to.equal('http://internal:3000');
      expect(origin.clientAddress, remoteAddress).to.equal(remoteAddress.replace('%eth0', ''));
      expect(origin.chain).to.have.length(1);
      expect(requestId).to.match(/^[0-9a-f-]{36}$/);
      expect(receivedRequestId).to.equal('c1a5e2');
    }
  });

  it('trusts the ranges to their edges, and their IPv4-mapped IPv6 forms', () => {
    for (const remoteAddress of [
      '127.255.255.255',
      '10.255.0.1',
      '172.16.0.0',
      '172.31.255.255',
      '192.168.255.1',
      '::ffff:10.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:FFFF:192.168.1.1',
    ]) {
      expect(resolve(ingress, { remoteAddress }).origin.origin, remoteAddress).to.equal(
        'https://app.example',
      );
    }
  });
});

describe('the client address', () => {
  const cases: [string, Headers, string][] = [
    ['the nearest untrusted one', { 'X-Forwarded-For': '1.1.1.1, 2.2.2.2, 10.0.0.3' }, '2.2.2.2'],
    ['with garbage dropped', { 'X-Forwarded-For': 'not-an-ip, 9.9.9.9' }, '9.9.9.9'],
    ['over two header lines', ['X-Forwarded-For', '1.1.1.1', 'x-forwarded-for', '2.2.2.2'], '2.2.2.2'],
    ['the farthest where all are trusted', { 'X-Forwarded-For': '10.0.0.5, 192.168.0.2' }, '10.0.0.5'],
    ['the peer where none is given', {}, '10.0.0.1'],
    ['the peer where all is garbage', { 'X-Forwarded-For': 'x, y', 'X-Real-IP': '8.8.8.8' }, '10.0.0.1'],
    ['of x-real-ip without x-forwarded-for', { 'X-Real-IP': '8.8.8.8' }, '8.8.8.8'],
    ['without its port', { 'X-Forwarded-For': '9.9.9.9:4711' }, '9.9.9.9'],
    ['IPv6 without brackets and port', { 'X-Forwarded-For': '[2001:DB8::7]:4711' }, '2001:db8::7'],
    ['IPv4 out of its mapped form', { 'X-Forwarded-For': '::ffff:9.9.9.9' }, '9.9.9.9'],
    ['::1, which is nobody trusted', { 'X-Forwarded-For': '9.9.9.9, ::1' }, '::1'],
  ];
  for (const [name, headers, expected] of cases) {
    it(`is ${name}`, () => {
      const rawHeaders = Array.isArray(headers) ? (headers as string[]) : Object.entries(headers).flat();
      expect(resolve(['Host', 'a', ...rawHeaders]).origin.clientAddress).to.equal(expected);
    });
  }
});

describe('scheme, host and port', () => {
  const cases: [string, Record<string, string>, string][] = [
    ['default port of http not printed', { Host: 'a.test:80' }, 'http://a.test'],
    [
      'default port of https not printed',
      { Host: 'a.test:443', 'X-Forwarded-Proto': 'https' },
      'https://a.test',
    ],
    ["the other scheme's port printed", { Host: 'a.test', 'X-Forwarded-Port': '443' }, 'http://a.test:443'],
    [
      'forwarded port before that of the host',
      { Host: 'a.test:1', 'X-Forwarded-Port': '8080' },
      'http://a.test:8080',
    ],
    [
      'port of the forwarded host',
      { Host: 'b:3000', 'X-Forwarded-Host': 'a.test:8443' },
      'http://a.test:8443',
    ],
    ["not the inner host's port", { Host: 'b:3000', 'X-Forwarded-Host': 'a.test' }, 'http://a.test'],
    ['port that is none', { Host: 'a.test', 'X-Forwarded-Port': 'abc' }, 'http://a.test'],
    ['port 0', { Host: 'a.test', 'X-Forwarded-Port': '0' }, 'http://a.test'],
    ['port 65536', { Host: 'a.test', 'X-Forwarded-Port': '65536' }, 'http://a.test'],
    ['port 65535', { Host: 'a.test', 'X-Forwarded-Port': '65535' }, 'http://a.test:65535'],
    ['host port out of range', { Host: 'a.test:99999' }, 'http://a.test'],
    ['empty port', { Host: 'a.test:' }, 'http://a.test'],
    ['ftp as http', { Host: 'a.test', 'X-Forwarded-Proto': 'ftp' }, 'http://a.test'],
    ['HTTPS in capitals', { Host: 'a.test', 'X-Forwarded-Proto': 'HTTPS' }, 'https://a.test'],
    [
      'the first of several protocols',
      { Host: 'a.test', 'X-Forwarded-Proto': 'https, http' },
      'https://a.test',
    ],
    ['x-forwarded-scheme', { Host: 'a.test', 'X-Forwarded-Scheme': 'https' }, 'https://a.test'],
    ['x-scheme', { Host: 'a.test', 'X-Scheme': 'https' }, 'https://a.test'],
    ['the first of several forwarded hosts', { Host: 'b', 'X-Forwarded-Host': 'a.test, c' }, 'http://a.test'],
    ['a host in capitals', { Host: 'A.Test' }, 'http://a.test'],
    ['IPv6', { Host: '[2001:db8::1]:8080' }, 'http://[2001:db8::1]:8080'],
    ['underscores', { Host: 'my_upstream' }, 'http://my_upstream'],
    ['a final dot', { Host: 'a.test.' }, 'http://a.test.'],
    ['an empty Host: our own address', { Host: '' }, 'http://10.0.0.9:3000'],
    ['an empty Host with a forwarded one', { Host: '', 'X-Forwarded-Host': 'a.test' }, 'http://a.test'],
  ];
  for (const [name, headers, expected] of cases) {
    it(name, () => {
      expect(resolve(headers).origin.origin).to.equal(expected);
    });
  }

  it('gives our own address to HTTP/1.0 without Host, IPv6 in brackets', () => {
    expect(resolve({}, { httpVersion: '1.0' }).origin.origin).to.equal('http://10.0.0.9:3000');
    expect(resolve({}, { httpVersion: '1.0', localAddress: '::1' }).origin.origin).to.equal(
      'http://[::1]:3000',
    );
    expect(resolve({}, { httpVersion: '1.0', localAddress: '::ffff:127.0.0.1' }).origin.origin).to.equal(
      'http://127.0.0.1:3000',
    );
  });

  it('is https on an encrypted socket', () => {
    expect(resolve({ Host: 'a.test' }, { encrypted: true }).origin.origin).to.equal('https://a.test');
  });
});

describe('a refused Host', () => {
  const invalid = [
    'bad_host!!', 'a b', '<script>', 'a/b', 'a@b', 'a,b', 'a..b', '.a', 'a:b', 'a:1:2', '[::1', '[::zz]', '[1.2.3.4]', '::1',
    'a?b', 'a#b', 'a\\b', 'a%41', 'é.test', '*', "a'b", 'a"b', 'a'.repeat(400),
  ]; // prettier-ignore
  for (const host of invalid) {
    it(`is ${JSON.stringify(host.slice(0, 30))}`, () => {
      const { origin, refusedHost } = resolve({ Host: host });
      expect(refusedHost).to.deep.equal({ code: 'INVALID_HOST', host });
      expect(origin.hostError).to.equal(`Invalid Host "${host}".`);
      expect([origin.host, origin.origin]).to.deep.equal([null, null]);
    });
  }

  it('is one that came twice, even twice the same', () => {
    expect(resolve(['Host', 'a', 'host', 'a']).origin.hostError).to.equal('Invalid Host "a, a".');
  });

  it('is none at all in HTTP/1.1', () => {
    expect(resolve({}).origin.hostError).to.equal('Invalid Host "".');
  });

  it('is a malformed x-forwarded-host of a trusted proxy, and only of such', () => {
    for (const host of ['bad host', 'evil.example/path']) {
      const headers = { Host: 'a.test', 'X-Forwarded-Host': host };
      expect(resolve(headers).origin.hostError).to.equal(`Invalid Host "${host}".`);
      expect(resolve(headers, { remoteAddress: '9.9.9.9' }).origin.hostError).to.equal(null);
    }
  });

  it('is a malformed Host behind a good x-forwarded-host', () => {
    expect(resolve({ Host: 'a b', 'X-Forwarded-Host': 'a.test' }).origin.hostError).to.equal(
      'Invalid Host "a b".',
    );
  });

  it('is one outside the trusted hosts; a leading dot stands for a domain with all below it', () => {
    const trusted = ['app.example', '.shop.example'];
    for (const host of [
      'app.example',
      'APP.example:8080',
      'app.example.',
      'shop.example',
      'a.b.shop.example',
    ]) {
      expect(resolve({ Host: host }, {}, trusted).refusedHost, host).to.equal(null);
    }
    for (const host of [
      'evil.example',
      'xapp.example',
      'a.app.example',
      'xshop.example',
      'app.example.evil',
    ]) {
      const { origin } = resolve({ Host: host }, {}, trusted);
      expect(origin.hostError).to.equal(`Untrusted Host "${host}".`);
      expect([origin.host, origin.origin]).to.deep.equal([host, null]);
    }
  });
});

describe('the request id', () => {
  it('is kept from a trusted peer when it is well-formed', () => {
    for (const id of ['a', 'A.b_c:d-9', 'x'.repeat(200)]) {
      expect(resolve({ Host: 'a', 'X-Request-ID': id }).requestId).to.equal(id);
    }
  });

  it('is made anew, and the received one told, when it is not', () => {
    for (const id of ['', 'a b', 'x'.repeat(201), 'a\tb', 'é', '<b>']) {
      const { requestId, receivedRequestId } = resolve({ Host: 'a', 'X-Request-ID': id });
      expect(requestId).to.match(/^[0-9a-f-]{36}$/);
      expect(receivedRequestId).to.equal(id);
    }
  });
});

describe('a range that holds every address', () => {
  for (const [range, within, without] of [
    ['0.0.0.0/0', ['9.9.9.9', '203.0.113.7', '::ffff:9.9.9.9'], ['2001:db8::1', '::1']],
    ['::/0', ['2001:db8::1', '::1'], ['9.9.9.9', '::ffff:9.9.9.9']],
  ] as const)
    it(`is ${range} for its family`, () => {
      const { resolve: resolveAll } = createOriginResolver({ trustedProxies: [range], trustedHosts: null });
      const isTrusted = (remoteAddress: string): boolean =>
        resolveAll({
          rawHeaders: ['Host', 'a'],
          remoteAddress,
          localAddress: '',
          localPort: 1,
          encrypted: false,
          httpVersion: '1.1',
        }).origin.trusted;
      expect(within.map(isTrusted)).to.not.include(false);
      expect(without.map(isTrusted)).to.not.include(true);
    });
});
