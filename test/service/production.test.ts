/** Debug off: nothing of the profiler is left, and what the contract keeps stays. */
import { expect } from 'chai';
import { freshVarDir } from '../support/postgres.ts';
import { type RunningShop, startShop } from '../support/shop.ts';
import { exchange } from '../support/raw-http.ts';

describe('the service with debug off', () => {
  let shop: RunningShop;
  before(async () => {
    shop = await startShop({ APP_ENV: 'prod', API_KEY: 'correct-horse', VAR_DIR: freshVarDir() });
  });
  after(() => shop.close());

  function ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${shop.origin}${path}`, { redirect: 'manual', ...init });
  }

  it('has no token, no child and no page of the profiler', async () => {
    for (const path of [
      '/login',
      '/nope',
      '/_profiler',
      '/_profiler/',
      '/_profiler/latest',
      '/_profiler/search.json',
      '/_profiler/live',
      '/_profiler/-/clear',
      '/_profiler/abcdef',
    ]) {
      const { status, headers } = await ask(path);
      if (path !== '/login') expect(status, path).to.equal(404);
      for (const name of headers.keys()) expect(name, path).to.not.match(/debug/);
      expect(headers.get('x-robots-tag')).to.equal('noindex');
      expect(headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    }
    expect(shop.service.profiler).to.equal(null);
  });

  it('answers errors by the status and its phrase, the message only where it is meant to be seen', async () => {
    const missing = await ask('/nope');
    expect(missing.headers.get('cache-control')).to.equal('no-cache, private');
    expect(missing.headers.get('content-type')).to.equal('text/html; charset=UTF-8');
    const text = await missing.text();
    expect(text).to.contain('404').and.to.contain('Not Found').and.to.contain('No route found');
    const failed = await ask('/orders');
    expect(failed.status).to.equal(503);
    const body = await failed.text();
    expect(body).to.contain('503').and.to.contain('Service Unavailable');
    for (const leak of ['at ', '.ts', '.js', 'node_modules', 'DATABASE_URL', 'Hindsight', 'stack'])
      expect(body).to.not.contain(leak);
    expect(body.length).to.be.below(1000);
  });

  it('masks a secret also in a message that is meant to be seen', async () => {
    const body = await (await ask('/correct-horse/%63orrect-horse')).text();
    expect(body).to.contain('No route found').and.to.not.contain('orrect-horse');
    const { responses } = await exchange(shop.port, ['GET / HTTP/1.1\r\nHost: correct-horse!\r\n\r\n'], {
      count: 1,
    });
    expect(responses[0]?.body).to.contain('Invalid Host').and.to.not.contain('correct-horse');
  });
});
