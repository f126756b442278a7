/** Places on the pages lead to their source, and open the editor where one is set up; nothing of where the application lies is stored. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createError } from '../../app/errors.ts';
import { packageRoot } from '../../app/paths.ts';
import { everyPanel } from '../support/every-page.ts';
import { addForeignText } from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { hostileRequest } from '../support/page-samples.ts';

const PLACE = 'src/orders/order-view.ts:41';
const EDITOR = { url: 'vscode://file/%f:%l:%c', root: '/srv/shop', paths: { '/srv': '/home/me' } };

describe('links to the editor', () => {
  const fixture = createPageFixture(everyPanel(), { editor: EDITOR });
  const server = usePages(fixture);
  let token: string;

  before(async () => {
    const context = await fixture.record({
      ...hostileRequest('x'),
      more: (made) => {
        hostileRequest('x').more?.(made);
        addForeignText(made, 'src/orders/order-view.ts');
        const line = { level: 'info', channel: 'shop', context: null, atMs: 1 } as const;
        made.add('log', { ...line, message: 'placed', caller: PLACE });
        const row = { method: 'GET', pattern: '/orders', handler: 'show', name: null, source: PLACE };
        made.add('routing', {
          table: [row],
          nearest: [{ ...row, reason: 'spelling', distance: 1 }],
          considered: [],
          secondTry: null,
          redirect: null,
          allow: [],
        });
        made.add('error', { error: createError('ROUTE_NOT_FOUND', ['GET', '/']), origin: 'handled', status: 404, atMs: 2 });
      },
    });
    token = context.token;
  });

  const pageOf = async (panel: string): Promise<string> =>
    (await fetch(`${server.address}/_profiler/${token}?panel=${panel}`)).text();

  for (const panel of ['exception', 'logs', 'routing', 'database', 'http_client']) {
    it(`stand on the page of ${panel}, each at a line below the mapped folder`, async () => {
      const $ = load(await pageOf(panel));
      const links = $('main [data-editor], main a[href^="vscode:"]')
        .toArray()
        .map((link) => $(link).attr('data-editor') ?? $(link).attr('href'));
      expect(links).to.not.be.empty;
      for (const link of links) expect(link).to.match(/^vscode:\/\/file\/home\/me\/shop\/[\w./%-]+:\d+:\d+$/);
    });
  }

  it('stand on every panel, and each leads to a page of the profile', async () => {
    const links = new Set<string>();
    for (const { name } of everyPanel()) {
      const $ = load(await pageOf(name));
      for (const link of $('a[data-source]').toArray()) links.add($(link).attr('href')!);
    }
    expect(links.size).to.be.at.least(2);
    for (const link of links) {
      const response = await fetch(server.address + link);
      expect(response.status, link).to.equal(200);
      expect(load(await response.text())('a[data-key=e]').attr('href')).to.match(/^vscode:/);
    }
  });

  it('never stand within another link', async () => {
    for (const { name } of everyPanel()) {
      let open = 0;
      for (const [tag] of (await pageOf(name)).matchAll(/<a[ >]|<\/a>/g)) {
        open += tag === '</a>' ? -1 : 1;
        expect(open, name).to.be.within(0, 1);
      }
    }
  });

  it('are made when a page is read: no profile holds where the application lies', async () => {
    const text = await (await fetch(`${server.address}/_profiler/${token}.json`)).text();
    for (const part of ['vscode:', '/srv/shop', '/home/me', packageRoot()]) expect(text).to.not.include(part);
  });
});
