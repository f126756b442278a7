/** The service above its limit of full records: every response has a token, and every token opens a page. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { useRecordingLimit } from '../support/recording-limit.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

describe('the service with no request recorded in full', () => {
  useRecordingLimit();
  let shop: RunningShop;
  before(async () => {
    shop = await startShop({ PROFILER_FULL_PER_SECOND: '0' });
  });
  after(() => shop.close());

  async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${shop.origin}${path}`, { headers });
    await response.arrayBuffer();
    expect(response.headers.get('x-debug-token-link')).to.match(/_profiler\/[0-9a-f]{6}$/);
    return response;
  }

  const tokenOf = (response: Response): string => response.headers.get('x-debug-token') ?? '';

  it('shows one sentence on each panel, and 404 for a panel that does not exist', async () => {
    const token = tokenOf(await ask('/orders'));
    for (const panel of ['request', 'database', 'exception', 'timeline', 'logs']) {
      const response = await fetch(`${shop.origin}/_profiler/${token}?panel=${panel}`);
      expect(response.status).to.equal(200);
      expect(load(await response.text())('main .empty').text()).to.include(
        'Only a summary of this request was recorded.',
      );
    }
    expect((await fetch(`${shop.origin}/_profiler/${token}?panel=none`)).status).to.equal(404);
    const markdown = await (await fetch(`${shop.origin}/_profiler/${token}.md`)).text();
    expect(markdown).to.include('only a summary of this one was recorded');
  });
});
