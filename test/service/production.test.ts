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

  it('masks a secret also in a message that is meant to be seen', async () => {
    const body = await (await ask('/correct-horse/%63orrect-horse')).text();
    expect(body).to.contain('No route found').and.to.not.contain('orrect-horse');
    const { responses } = await exchange(shop.port, ['GET / HTTP/1.1\r\nHost: correct-horse!\r\n\r\n'], {
      count: 1,
    });
    expect(responses[0]?.body).to.contain('Invalid Host').and.to.not.contain('correct-horse');
  });
});
