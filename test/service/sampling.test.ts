/** Requests that are sampled out: headers as ever, nothing stored, unless they fail, are slow, or ask to be recorded. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Profile } from '../../app/index.ts';
import { type RunningShop, startShop } from '../support/shop.ts';
import { until } from '../support/waiting.ts';

describe('the service with nothing sampled', () => {
  let shop: RunningShop;
  before(async () => {
    shop = await startShop({ PROFILER_SAMPLE_RATE: '0', PROFILER_SLOW_MS: '600' });
  });
  after(() => shop.close());

  async function ask(path: string, headers: Record<string, string> = {}): Promise<string> {
    const response = await fetch(`${shop.origin}${path}`, { headers });
    await response.arrayBuffer();
    expect(response.headers.get('x-debug-token-link')).to.match(/_profiler\/[0-9a-f]{6}$/);
    return response.headers.get('x-debug-token') ?? '';
  }

  async function profileOf(token: string): Promise<Profile | null> {
    const response = await fetch(`${shop.origin}/_profiler/${token}.json`);
    return response.status === 200 ? ((await response.json()) as { profile: Profile }).profile : null;
  }

  async function stored(token: string): Promise<Profile | null> {
    let profile: Profile | null = null;
    await until(async () => (profile = await profileOf(token)) !== null, `there is the profile ${token}`);
    return profile;
  }

  it('gives an unremarkable request a link that says it was sampled out', async () => {
    const token = await ask('/');
    await sleep(50);
    expect(await profileOf(token)).to.equal(null);
    const response = await fetch(`${shop.origin}/_profiler/${token}`);
    expect(response.status).to.equal(200);
    expect(load(await response.text())('main').text()).to.contain('not sampled');
  });

  it('keeps the summary of one that fails, and of one that is slow', async () => {
    const failed = await stored(await ask('/api/quote'));
    expect(failed).to.include({ storedBecause: 'failed', status: 500 });
    expect(failed?.panels.exception?.data).to.not.equal(null);
    const slow = await stored(await ask('/api/slow'));
    expect(slow).to.include({ storedBecause: 'slow', status: 200 });
    expect(slow?.panels.database?.data).to.equal(null);
  });

  it('records one in full that asks for it', async () => {
    const profile = await stored(await ask('/orders', { 'x-debug-profile': '1' }));
    expect(profile).to.include({ storedBecause: null, status: 200 });
    expect(profile?.panels.database?.summary?.count).to.be.greaterThan(10);
  });

  it('still knows no profile for any other token', async () => {
    let unknown = 0;
    for (let i = 0; i < 40; i++) {
      const { status } = await fetch(
        `${shop.origin}/_profiler/${(i * 400_009).toString(16).padStart(6, '0').slice(-6)}`,
      );
      if (status === 404) unknown++;
    }
    expect(unknown).to.be.within(28, 40);
  });
});
