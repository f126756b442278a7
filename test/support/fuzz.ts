/**
 * Requests that are mutated by a seeded generator, so that a failure can be run again, and what must hold of every response to them. What
 * `npm run stress -- fuzz` finds is kept in fuzz-found.json and sent by the tests from then on.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../app/paths.ts';
import { head, type Exchange } from './raw-http.ts';

/** mulberry32: small, seeded, good enough to pick mutations. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const SEEDS = [
  head('GET /ok?a=1'),
  head('GET /slash', { Referer: 'http://r.test/', 'X-Forwarded-For': '9.9.9.9, 10.0.0.1' }),
  head('GET /item/%41', {
    'X-Forwarded-Host': 'x.test',
    'X-Forwarded-Port': '8080',
    'X-Forwarded-Proto': 'https',
  }),
  `${head('POST /ok', { 'Content-Type': 'application/json', 'Content-Length': '9' })}{"a":[1]}`,
  `${head('POST /ok', { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': '7' })}a[b]=1&`,
  `${head('POST /nowhere', { 'Transfer-Encoding': 'chunked' })}3\r\nabc\r\n0\r\n\r\n`,
  `${head('POST /ok', { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': '66' })}--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--b--`,
  head('OPTIONS /ok', { Origin: 'http://evil.test', 'Access-Control-Request-Method': 'PUT' }),
  head('GET http://other.test/item/7?x', { Expect: '100-continue' }),
];
const PIECES = [
  '\r\n', '\n', '\r', '\0', ' ', ':', '%', '%zz', '%00', '/', '//', '\\', '..', '?', '#', '=', '[', ']', '__proto__', 'chunked',
  'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Host: evil\r\n', 'Connection: close\r\n', 'Connection: Upgrade\r\nUpgrade: x\r\n',
  '\xff', '\xc3\x28', 'A'.repeat(500), 'HTTP/1.0', 'HTTP/2.0', '-1', '99999999999', '"', '<script>', '{', '\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n',
]; // prettier-ignore

export function mutate(random: (below: number) => number): string {
  let text = SEEDS[random(SEEDS.length)] ?? '';
  for (let count = 1 + random(3); count > 0; count--) {
    const at = random(text.length + 1);
    const piece = PIECES[random(PIECES.length)] ?? '';
    const kind = random(4);
    if (kind === 0) text = text.slice(0, at) + piece + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(at + 1 + random(8));
    else if (kind === 2) text = text.slice(0, at) + piece + text.slice(at + piece.length);
    else text = text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1);
  }
  return text;
}

/** The faults of the responses to a request; null if there are none. */
export function problemOf({ responses, timedOut }: Exchange): string | null {
  if (timedOut) return 'no end';
  for (const { status, headers } of responses) {
    if (status === 100) continue;
    if (status >= 500) return `status ${status}`;
    if (headers['x-robots-tag'] !== 'noindex') return `${status} without x-robots-tag`;
    if (!/^[0-9a-f]{6}$/.test(headers['x-debug-token'] ?? '')) return `${status} without a token`;
    if ('x-powered-by' in headers || 'set-cookie' in headers)
      return `${status} with a header that nobody set`;
    if (status < 400) continue;
    if (headers['content-type'] !== 'text/html; charset=UTF-8') return `${status} that is no page`;
    if (!/^[0-9a-f]{6}$/.test(headers['x-previous-debug-token'] ?? ''))
      return `${status} without the page's token`;
  }
  return null;
}

const FOUND = join(packageRoot(), 'test', 'support', 'fuzz-found.json');

/** Requests that once went wrong, one character per byte. */
export function foundByFuzz(): string[] {
  return existsSync(FOUND) ? (JSON.parse(readFileSync(FOUND, 'utf8')) as string[]) : [];
}

export function keepFound(requests: readonly string[]): void {
  const all = [...new Set([...foundByFuzz(), ...requests])];
  writeFileSync(FOUND, `${JSON.stringify(all, null, 2)}\n`);
}
