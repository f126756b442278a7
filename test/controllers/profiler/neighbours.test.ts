import { expect } from 'chai';
import { withPages } from '../../support/page-client.ts';
import { createPageFixture } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

describe('the newer and the older request', () => {
  it('are led to at the same panel, without error pages and pages of the profiler, and end where there is none', async () => {
    const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
    const tokens: string[] = [];
    // Several begin within one millisecond.
    for (let index = 0; index < 5; index++) {
      const { token } = await fixture.record({ url: `/${index}`, errorPage: index === 2 });
      tokens.push(token);
      await fixture.record({ url: '/_profiler/', kind: 'profiler' });
    }
    await withPages(fixture.pages, async ({ address }) => {
      const follow = async (token: string, way: string): Promise<string | null> => {
        const response = await fetch(`${address}/_profiler/${token}/${way}?panel=request`, {
          redirect: 'manual',
        });
        expect(response.status).to.equal(302);
        return response.headers.get('location');
      };
      for (const [index, token] of tokens.entries()) {
        const older = tokens[Math.max(0, index - 1)] ?? '';
        const newer = tokens[Math.min(4, index + 1)] ?? '';
        expect(await follow(token, 'older')).to.equal(`/_profiler/${older}?panel=request`);
        expect(await follow(token, 'newer')).to.equal(`/_profiler/${newer}?panel=request`);
      }
      expect((await fetch(`${address}/_profiler/ffffff/newer`)).status).to.equal(404);
      expect((await fetch(`${address}/_profiler/${tokens[0] ?? ''}/newer?panel[]=x`)).status).to.equal(400);
    });
  });
});
