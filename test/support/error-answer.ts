/** What every error answer must look like, whoever wrote it: one check for all tests of the HTTP contract. */
import { expect } from 'chai';
import { ISOLATING_HEADERS } from '../../app/middleware/security-headers.ts';
import type { HttpApp } from './http-app.ts';
import type { RawResponse } from './raw-http.ts';

export interface ExpectedError {
  status: number;
  /** Shown on the page; not looked at where absent. */
  message?: string | undefined;
  allow?: string | undefined;
  /** The answer is one to HEAD. */
  bodiless?: boolean;
  /** Below `/_profiler`. */
  isProfilerPage?: boolean;
}

/** Names that may stand in an error answer; anything else was left over from a handler. */
const EXPECTED_NAMES = [
  'allow', 'cache-control', 'connection', 'content-length', 'content-security-policy', 'content-type',
  'date', 'keep-alive', 'referrer-policy', 'x-content-type-options', 'x-debug-token', 'x-debug-token-link', 'x-frame-options',
  'x-previous-debug-token', 'x-request-id', 'x-robots-tag',
]; // prettier-ignore

export function decode(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replace(/&quot;|&#34;/g, '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

function expectFixedHeaders(headers: Record<string, string>): void {
  expect(headers['cache-control']).to.equal('no-cache, private');
  expect(headers['content-type']).to.equal('text/html; charset=UTF-8');
  expect(headers['x-robots-tag']).to.equal('noindex');
  expect(Date.parse(headers.date ?? '')).to.be.closeTo(Date.now(), 60_000);
  expect(headers['content-security-policy']).to.match(/^default-src 'none'.*frame-ancestors 'none'$/);
  expect(headers['x-content-type-options']).to.equal('nosniff');
  expect(headers['x-frame-options']).to.equal('DENY');
  expect(headers['referrer-policy']).to.equal('no-referrer');
  expect(headers['x-request-id']).to.match(/^[A-Za-z0-9._:-]{1,200}$/);
  expect(headers).to.not.have.any.keys('etag', 'set-cookie', 'x-powered-by', 'transfer-encoding', 'vary');
}

/** Both tokens are fresh profiles of `app`, linked both ways. */
function expectTokens(app: HttpApp, headers: Record<string, string>): void {
  const token = headers['x-debug-token'] ?? '';
  const child = headers['x-previous-debug-token'] ?? '';
  expect(token).to.match(/^[0-9a-f]{6}$/);
  expect(child).to.match(/^[0-9a-f]{6}$/);
  expect(headers['x-debug-token-link']).to.match(new RegExp(`^(https?://[^/]+)?/_profiler/${token}$`));
  expect(app.recorded.get(token)?.child).to.equal(child);
  expect(app.recorded.get(child)?.parent).to.equal(token);
}

export function expectError(
  app: HttpApp,
  response: RawResponse | undefined,
  expected: ExpectedError,
): RawResponse {
  if (response === undefined)
    throw new Error(`no answer; expected ${expected.status} ${expected.message ?? ''}`);
  const { status, headers, body } = response;
  expect(status, body.slice(0, 300)).to.equal(expected.status);
  expectFixedHeaders(headers);
  expectTokens(app, headers);
  expect(headers.allow).to.equal(expected.allow);
  const isolating = expected.isProfilerPage === true ? ISOLATING_HEADERS : [];
  for (const [name, value] of isolating) expect(headers[name]).to.equal(value);
  const names = [...EXPECTED_NAMES, ...isolating.map(([name]) => name)];
  expect(Object.keys(headers).filter((name) => !names.includes(name))).to.deep.equal([]);
  if (expected.bodiless === true) {
    expect(body).to.equal('');
    expect(Number(headers['content-length'])).to.be.greaterThan(0);
  } else {
    expect(body).to.match(/^<!DOCTYPE html>/);
    expect(Buffer.byteLength(body)).to.equal(Number(headers['content-length']));
    if (expected.message !== undefined) expect(decode(body)).to.include(`<h1>${expected.message}</h1>`);
  }
  return response;
}
