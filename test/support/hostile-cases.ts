/**
 * Requests as no client library sends them, each with the section of the RFC that says what becomes of it, and the responses of a service
 * without routes: 404 is what every well-formed request gets. RFC 9110: semantics; RFC 9112: HTTP/1.1; RFC 3986: addresses.
 */

export interface HostileCase {
  name: string;
  rfc: string;
  bytes: string;
  /** Statuses of all responses, in order; empty: the connection closes without any. */
  statuses: readonly number[];
  /** Behind nginx, where that differs. */
  behindNginx?: readonly number[];
  /** Never complete: the client ends its side. */
  endsEarly?: boolean;
}

const END = '\r\n\r\n';
const GOOD = `GET /good HTTP/1.1\r\nHost: a.test${END}`;

function get(target: string, ...fields: string[]): string {
  return (
    ['GET', target, 'HTTP/1.1\r\nHost: a.test'].join(' ') +
    fields.map((field) => `\r\n${field}`).join('') +
    END
  );
}

function post(fields: readonly string[], body: string): string {
  return `POST /x HTTP/1.1\r\nHost: a.test${fields.map((field) => `\r\n${field}`).join('')}${END}${body}`;
}

function chunked(body: string, ...fields: string[]): string {
  return post(['Transfer-Encoding: chunked', ...fields], body);
}

type Row = [
  name: string,
  rfc: string,
  bytes: string,
  statuses: readonly number[],
  behindNginx?: readonly number[],
];

const rows: Row[] = [
  // The request line.
  ['a plain request', '9112 3', GOOD, [404]],
  ['an empty line before it', '9112 2.2', `\r\n${GOOD}`, [404]],
  ['many empty lines before it', '9112 2.2', `${'\r\n'.repeat(20)}${GOOD}`, [404]],
  ['lines that end with LF', '9112 2.2', 'GET / HTTP/1.1\nHost: a.test\n\n', [400], [404]],
  ['a bare CR in the line', '9112 2.2', `GET /\rx HTTP/1.1\r\nHost: a${END}`, [400]],
  ['a tab between its parts', '9112 3', `GET\t/ HTTP/1.1\r\nHost: a${END}`, [400]],
  ['two blanks between its parts', '9112 3', `GET  / HTTP/1.1\r\nHost: a${END}`, [404]],
  ['a blank at its end', '9112 3', `GET / HTTP/1.1 \r\nHost: a${END}`, [400], [404]],
  ['no version (HTTP/0.9)', '9112 3', 'GET /\r\n\r\n', [400], []],
  ['no target', '9112 3', `GET HTTP/1.1\r\nHost: a${END}`, [400]],
  ['nothing but a method', '9112 3', 'GET\r\n\r\n', [400]],
  ['HTTP/2.0 as its version', '9112 2.3', `GET / HTTP/2.0\r\nHost: a${END}`, [404], [505]],
  ['HTTP/1.2', '9112 2.3', `GET / HTTP/1.2\r\nHost: a${END}`, [400], [404]],
  ['HTTP/9.9', '9112 2.3', `GET / HTTP/9.9\r\nHost: a${END}`, [400], [505]],
  ['HTTP/11', '9112 2.3', `GET / HTTP/11\r\nHost: a${END}`, [400], [505]],
  ['http/1.1 in lower case', '9112 2.3', `GET / http/1.1\r\nHost: a${END}`, [400]],
  ['HTTP/1.1 with a space in it', '9112 2.3', `GET / HTTP/ 1.1\r\nHost: a${END}`, [400]],
  ['the preface of HTTP/2', '9113 3.4', `PRI * HTTP/2.0${END}SM${END}`, [400]],
  ['a handshake of TLS', '9112 9.3', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', [400]],
  ['a greeting of SSH', '9112 3', 'SSH-2.0-x\r\n\r\n', [400]],
  ['a greeting of SMTP', '9112 3', 'EHLO a\r\n\r\n', [400]],
  ['a ping of Redis', '9112 3', '*1\r\n$4\r\nPING\r\n\r\n', [400]],
  ['zeros', '9112 3', '\0'.repeat(64), [400]],
  ['a NUL in the line', '9112 2.2', `GET /\0 HTTP/1.1\r\nHost: a${END}`, [400]],
  ['an escape of a terminal in the line', '9112 3', `GET /\x1b[31m HTTP/1.1\r\nHost: a${END}`, [400]],
  // The method.
  ['an unknown method', '9110 9.1', `FOO / HTTP/1.1\r\nHost: a${END}`, [400]],
  ['a method in lower case', '9110 9.1', `get / HTTP/1.1\r\nHost: a${END}`, [400]],
  ['a method with a NUL', '9110 9.1', `G\0T / HTTP/1.1\r\nHost: a${END}`, [400]],
  ['a method of 10,000 letters', '9110 9.1', `${'A'.repeat(10_000)} / HTTP/1.1\r\nHost: a${END}`, [400], [414]],
  ['TRACE', '9110 9.3.8', `TRACE / HTTP/1.1\r\nHost: a${END}`, [404], [405]],
  ['HEAD', '9110 9.3.2', `HEAD / HTTP/1.1\r\nHost: a${END}`, [404]],
  ['DELETE with a body', '9110 9.3.5', `DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 3${END}abc`, [404]],
  ['OPTIONS *', '9112 3.2.4', `OPTIONS * HTTP/1.1\r\nHost: a${END}`, [404], [400]],
  ['GET *', '9112 3.2.4', `GET * HTTP/1.1\r\nHost: a${END}`, [404], [400]],
  ['CONNECT with an authority', '9112 3.2.3', `CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80${END}`, [405], [400]],
  ['CONNECT with a path', '9112 3.2.3', `CONNECT /x HTTP/1.1\r\nHost: a${END}`, [405]],
  // The target.
  ['the absolute form', '9112 3.2.2', `GET http://b.test/x HTTP/1.1\r\nHost: a${END}`, [404]],
  ['the absolute form of another scheme', '9112 3.2.2', `GET ftp://b.test/x HTTP/1.1\r\nHost: a${END}`, [404]],
  ['an absolute form without a host', '9110 4.2.1', `GET http:/// HTTP/1.1\r\nHost: a${END}`, [400]],
  ['a user in the address', '9110 4.2.4', `GET http://u:p@b.test/ HTTP/1.1\r\nHost: a${END}`, [404], [400]],
  ['a target without its slash', '9112 3.2.1', get('x'), [400]],
  ['a fragment', '9112 3.2', get('/x#y'), [404]],
  ['two slashes', '3986 3.3', get('//evil.test/x'), [404]],
  ['a backslash', '3986 2', get('/\\evil.test'), [404]],
  ['dots', '3986 6.2.2.3', get('/../../etc/passwd'), [404], [400]],
  ['encoded dots', '3986 6.2.2.3', get('/%2e%2e/%2e%2e/etc/passwd'), [404], [400]],
  ['an encoded slash', '3986 2.2', get('/_profiler%2fassets'), [404]],
  ['an encoding cut short', '3986 2.1', get('/%'), [404], [400]],
  ['an encoding of no digits', '3986 2.1', get('/%zz'), [404], [400]],
  ['an encoded NUL', '3986 2.1', get('/%00'), [404], [400]],
  ['an encoded line break', '3986 2.1', get('/%0d%0aX-Injected:1'), [404]],
  ['UTF-8 that is too long', '3629 3', get('/%c0%af'), [404]],
  ['bytes above 127', '3986 2', get('/\xc3\xa9'), [400]],
  ['a line of 9,000 characters', '9112 3', get(`/${'a'.repeat(9000)}`), [404], [414]],
  ['a line of 70,000 characters', '9112 3', get(`/${'a'.repeat(70_000)}`), [431], [414]],
  ['markup', '9110 17.10', get('/<script>alert(1)</script>'), [404]],
  // Host.
  ['no Host', '9112 3.2', `GET / HTTP/1.1${END}`, [400]],
  ['no Host in HTTP/1.0', '9112 3.2', `GET / HTTP/1.0${END}`, [404], [400]],
  ['two Hosts', '9112 3.2', `GET / HTTP/1.1\r\nHost: a\r\nHost: b${END}`, [400]],
  ['the same Host twice', '9112 3.2', `GET / HTTP/1.1\r\nHost: a\r\nHost: a${END}`, [400]],
  ['an empty Host', '9112 3.2', `GET / HTTP/1.1\r\nHost:${END}`, [404], [400]],
  ['a Host with a blank', '9110 7.2', `GET / HTTP/1.1\r\nHost: a b${END}`, [400]],
  ['a Host with a path', '9110 7.2', `GET / HTTP/1.1\r\nHost: a/b${END}`, [400]],
  ['a Host with a user', '9110 7.2', `GET / HTTP/1.1\r\nHost: u@a${END}`, [400]],
  ['a Host with a comma', '9110 7.2', `GET / HTTP/1.1\r\nHost: a,b${END}`, [400]],
  ['a port of letters', '9110 7.2', `GET / HTTP/1.1\r\nHost: a:x${END}`, [400]],
  ['a port too large', '9110 7.2', `GET / HTTP/1.1\r\nHost: a:99999${END}`, [404]],
  ['an address of IPv6 cut short', '3986 3.2.2', `GET / HTTP/1.1\r\nHost: [::1${END}`, [400]],
  ['markup as Host', '9110 7.2', `GET / HTTP/1.1\r\nHost: <script>${END}`, [400]],
  ['a strange Host for the profiler', '9110 7.2', `GET /_profiler/ HTTP/1.1\r\nHost: attacker.test${END}`, [403]],
  // Header fields.
  ['no colon', '9112 5', get('/', 'bad'), [400], [404]],
  ['a blank before the colon', '9112 5.1', get('/', 'X-A : b'), [400]],
  ['a blank before the name', '9112 5.2', get('/', ' X-A: b'), [400]],
  ['an empty name', '9110 5.1', get('/', ': b'), [400]],
  ['a name with a blank', '9110 5.1', get('/', 'X A: b'), [400]],
  ['a name with a NUL', '9110 5.1', get('/', 'X\0A: b'), [400]],
  ['a name with letters outside ASCII', '9110 5.1', get('/', 'X-\xc3\xa4: b'), [400], [404]],
  ['a NUL in a value', '9110 5.5', get('/', 'X-A: b\0c'), [400]],
  ['a bare CR in a value', '9110 5.5', get('/', 'X-A: b\rc'), [400]],
  ['a folded value', '9112 5.2', get('/', 'X-A: b\r\n c'), [400]],
  ['a value with a tab', '9110 5.5', get('/', 'X-A: b\tc'), [404]],
  ['a value with bytes above 127', '9110 5.5', get('/', 'X-A: \xff\xfe'), [404]],
  ['4,000 fields', '9110 5.4', get('/', ...Array.from({ length: 4000 }, (_, at) => `a${at}: 1`)), [431], [400]],
  ['a field of 15,000 characters', '9110 5.4', get('/', `X-A: ${'a'.repeat(15_000)}`), [404], [400]],
  ['a field of 20,000 characters', '6585 5', get('/', `X-A: ${'a'.repeat(20_000)}`), [431], [400]],
  ['names of prototypes', '9110 5.1', get('/', '__proto__: 1', 'constructor: 2', 'hasOwnProperty: 3'), [404]],
  ['an Expect that nobody knows', '9110 10.1.1', get('/', 'Expect: x'), [417], [404]],
  ['an Expect of 100-continue without a body', '9110 10.1.1', get('/', 'Expect: 100-continue'), [100, 404]],
  ['a malformed body behind an Upgrade', '9110 7.8', chunked('3\r\nabc\rX\r\n0\r\n\r\n', 'Connection: Upgrade', 'Upgrade: x'), [400]], // prettier-ignore
  ['an Upgrade to nothing', '9110 7.8', get('/', 'Connection: Upgrade', 'Upgrade: x'), [404]],
  ['a cookie that is broken', '6265 5.4', get('/', 'Cookie: ;;=;a;=b'), [404]],
  ['credentials that are broken', '7617 2', get('/', 'Authorization: Basic %%%'), [404]],
  ['a range that is broken', '9110 14.2', get('/', 'Range: bytes=-,,9-1'), [404]],
  ['X-Forwarded-Host with markup', '7239 5.3', get('/', 'X-Forwarded-Host: <b>'), [400], [404]],
  // Lengths.
  ['a body without a length', '9112 6.3', `${post([], '')}${GOOD}`, [404, 404]],
  ['a length of letters', '9110 8.6', post(['Content-Length: x'], 'abc'), [400]],
  ['a negative length', '9110 8.6', post(['Content-Length: -1'], 'abc'), [400]],
  ['a length with a sign', '9110 8.6', post(['Content-Length: +3'], 'abc'), [400]],
  ['a length in hexadecimal', '9110 8.6', post(['Content-Length: 0x3'], 'abc'), [400]],
  ['a length with a fraction', '9110 8.6', post(['Content-Length: 3.0'], 'abc'), [400]],
  ['a list of lengths', '9110 8.6', post(['Content-Length: 3, 3'], 'abc'), [400]],
  ['two lengths', '9112 6.3', post(['Content-Length: 3', 'Content-Length: 4'], 'abcd'), [400]],
  ['the same length twice', '9112 6.3', post(['Content-Length: 3', 'Content-Length: 3'], 'abc'), [400]],
  ['an empty length', '9110 8.6', post(['Content-Length:'], ''), [400]],
  ['a length beyond 64 bits', '9110 8.6', post(['Content-Length: 99999999999999999999'], 'abc'), [400]],
  ['a length beyond the limit', '9110 15.5.14', post(['Content-Length: 16777217'], 'abc'), [413], []],
  ['a request inside a body', '9112 11.2', post([`Content-Length: ${GOOD.length}`], GOOD), [404]],
  ['a length shorter than the body', '9112 9.3.2', post(['Content-Length: 3'], `abc${GOOD}`), [404, 404]],
  // Transfer codings.
  ['chunks', '9112 7.1', `${chunked('3\r\nabc\r\n0\r\n\r\n')}${GOOD}`, [404, 404]],
  ['chunks and a length', '9112 6.1', chunked(`0\r\n\r\n${GOOD}`, 'Content-Length: 3'), [400]],
  ['a length, then chunks', '9112 6.1', post(['Content-Length: 3', 'Transfer-Encoding: chunked'], `0\r\n\r\n${GOOD}`), [400]],
  ['chunked twice', '9112 6.1', chunked(`0\r\n\r\n${GOOD}`, 'Transfer-Encoding: chunked'), [400]],
  ['chunked, identity', '9112 6.1', post(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['identity', '9112 6.1', post(['Transfer-Encoding: identity'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['a coding that nobody knows', '9112 6.1', post(['Transfer-Encoding: xchunked'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['a coding in quotes', '9112 6.1', post(['Transfer-Encoding: "chunked"'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['a blank before the colon of the coding', '9112 5.1', post(['Transfer-Encoding : chunked'], `0\r\n\r\n${GOOD}`), [400]],
  ['a coding with a vertical tab', '9112 6.1', post(['Transfer-Encoding: \x0bchunked'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['an empty coding', '9112 6.1', post(['Transfer-Encoding:'], `0\r\n\r\n${GOOD}`), [400], [501]],
  ['chunks in HTTP/1.0', '9112 6.1', `POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked${END}0\r\n\r\n`, [404], [400]],
  ['a chunk of letters', '9112 7.1', chunked('zz\r\nabc\r\n0\r\n\r\n'), [400]],
  ['a chunk with a negative size', '9112 7.1', chunked('-1\r\nabc\r\n0\r\n\r\n'), [400]],
  ['a chunk with 0x', '9112 7.1', chunked('0x3\r\nabc\r\n0\r\n\r\n'), [400]],
  ['a chunk with a blank before its size', '9112 7.1', chunked(' 3\r\nabc\r\n0\r\n\r\n'), [400]],
  ['a chunk beyond 64 bits', '9112 7.1', chunked('fffffffffffffffff\r\nabc'), [400]],
  ['a chunk longer than its size', '9112 7.1', chunked('3\r\nabcd\r\n0\r\n\r\n'), [400]],
  ['a chunk that ends with LF', '9112 7.1', chunked('3\nabc\n0\n\n'), [400], [404]],
  ['a chunk without CRLF at its end', '9112 7.1', chunked('3\r\nabc0\r\n\r\n'), [400]],
  ['an extension of a chunk', '9112 7.1.1', chunked('3;a=b\r\nabc\r\n0\r\n\r\n'), [404]],
  ['an extension with a line break', '9112 7.1.1', chunked('3;a\nb\r\nabc\r\n0\r\n\r\n'), [400]],
  ['an extension of 20,000 characters', '9112 7.1.1', chunked(`3;${'a'.repeat(20_000)}\r\nabc\r\n0\r\n\r\n`), [413], [404]],
  ['a trailer', '9112 7.1.2', chunked('0\r\nX-A: b\r\n\r\n'), [404]],
  ['a trailer without a colon', '9112 7.1.2', chunked('0\r\nbad\r\n\r\n'), [400], [404]],
  ['a trailer with a length', '9110 6.5.1', chunked(`0\r\nContent-Length: 5\r\n\r\n${GOOD}`), [400], [404, 404]],
  ['a trailer of 20,000 characters', '6585 5', chunked(`0\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`), [431], [404]],
  // Bodies.
  ['JSON that is broken', '8259 2', post(['Content-Type: application/json', 'Content-Length: 1'], '{'), [400]],
  ['JSON with names of prototypes', '8259 4', post(['Content-Type: application/json', 'Content-Length: 24'], '{"__proto__":{"x":1},"a"'.slice(0, 23) + '}'), [400]],
  ['JSON of an unknown charset', '8259 8.1', post(['Content-Type: application/json; charset=x-nothing', 'Content-Length: 2'], '{}'), [415]],
  ['a coding of the content that nobody knows', '9110 8.4', post(['Content-Type: application/json', 'Content-Encoding: nothing', 'Content-Length: 2'], '{}'), [415]],
  ['gzip that is none', '9110 8.4', post(['Content-Type: application/json', 'Content-Encoding: gzip', 'Content-Length: 2'], '{}'), [400]],
  ['a form without a boundary', '7578 4.1', post(['Content-Type: multipart/form-data', 'Content-Length: 3'], 'abc'), [400]],
  ['a form that is cut off', '7578 4.1', post(['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 5'], '--b\r\n'), [400]],
  // Connections.
  ['two requests at once', '9112 9.3.2', GOOD + GOOD, [404, 404]],
  ['a request after one that closes', '9112 9.6', get('/', 'Connection: close') + GOOD, [404]],
  ['a request after one that is broken', '9112 9.3', `${get('/', 'bad')}${GOOD}`, [400], [404, 404]],
  ['two requests of HTTP/1.0', '9112 9.3', `GET / HTTP/1.0\r\nHost: a${END}${GOOD}`, [404]],
  ['half a head', '9112 8', 'GET / HTTP/1.1\r\nHost: a', [400], []],
  ['half a body', '9112 8', post(['Content-Length: 5'], 'ab'), [400], []],
  ['nothing at all', '9112 9.5', '', []],
]; // prettier-ignore

const EARLY = new Set(['a length beyond the limit', 'half a head', 'half a body', 'nothing at all']);

export const hostileCases: readonly HostileCase[] = rows.map(([name, rfc, bytes, statuses, behindNginx]) => ({
  name,
  rfc,
  bytes,
  statuses,
  ...(EARLY.has(name) ? { endsEarly: true } : {}),
  ...(behindNginx === undefined ? {} : { behindNginx }),
}));
