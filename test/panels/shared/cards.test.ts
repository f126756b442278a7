/** What each built-in panel shows on the toolbar: few facts, the worst first, rows that its page has. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createDatabasePanel } from '../../../app/panels/database/index.ts';
import { dumpPanel } from '../../../app/panels/dump/index.ts';
import { httpClientPanel } from '../../../app/panels/http-client/index.ts';
import { logsPanel } from '../../../app/panels/logs/index.ts';
import { migrationsPanel } from '../../../app/service/migrations-panel.ts';
import { requestPanel } from '../../../app/panels/request/index.ts';
import { createRoutingPanel } from '../../../app/panels/routing/index.ts';
import { runtimePanel } from '../../../app/panels/runtime/index.ts';
import { timelinePanel } from '../../../app/panels/timeline/index.ts';
import { viewsPanel } from '../../../app/panels/views/index.ts';
import type { Context } from '../../../app/profiler/record/context.ts';
import type { Panel } from '../../../app/profiler/panel.ts';
import { type Card, rowsCard } from '../../../app/render/rows-card.ts';
import { addBusyPage, call, log, query } from '../../support/observed-samples.ts';
import { servePages } from '../../support/page-client.ts';
import { createPageFixture } from '../../support/page-fixture.ts';

const panels = [
  requestPanel,
  timelinePanel,
  logsPanel,
  createRoutingPanel(),
  createDatabasePanel(),
  migrationsPanel,
  viewsPanel,
  httpClientPanel,
  runtimePanel,
  dumpPanel,
] as Panel[];

async function previews(more: (context: Context) => void): Promise<Record<string, Card>> {
  const profile = await createPageFixture(panels).profileOf({ more });
  return Object.fromEntries(
    panels.flatMap((panel): [string, Card][] => {
      const data = profile.panels[panel.name]?.data ?? null;
      if (data === null) return [];
      const rows = panel.rows?.(data, { profile, amendments: {} });
      return rows === undefined ? [] : [[panel.name, rowsCard(rows)]];
    }),
  );
}

describe('cards of panels', () => {
  it('lead to rows that are on the page of their panel', async () => {
    const fixture = createPageFixture(panels);
    const { token } = await fixture.record({ more: addBusyPage });
    const server = await servePages(fixture.pages);
    const answer = await fetch(`${server.address}/_profiler/${token}/toolbar.json`);
    const { items } = (await answer.json()) as { items: { preview: { rows: { href: string }[] } }[] };
    const hrefs = items.flatMap(({ preview }) => preview.rows.map(({ href }) => href));
    expect(hrefs).to.have.length.above(8);
    for (const href of hrefs) {
      const $ = load(await (await fetch(`${server.address}${href}`)).text());
      const [, id] = href.split('#');
      if (id !== undefined) expect($(`[id="${id}"]`).length, href).to.equal(1);
    }
    await server.close();
  });

  it('put what failed before what was slow, and a loop before both', async () => {
    const shown = await previews((context) => {
      context.add('query', query({ sql: 'select 1 from slow', durationMs: 900, caller: 'src/a.ts:1' }));
      context.add(
        'query',
        query({ sql: 'select 1 from broken', durationMs: 1, error: 'no such table', caller: 'src/a.ts:2' }),
      );
      for (let id = 0; id < 5; id++)
        context.add(
          'query',
          query({
            sql: 'select 1 from lines where id = $1',
            bindings: [id],
            durationMs: 1,
            caller: 'src/a.ts:3',
          }),
        );
      context.add('log', log({ level: 'info', message: 'fine' }));
      context.add('log', log({ level: 'error', message: 'it broke' }));
      context.add('call', call({ url: 'https://slow.example/x', durationMs: 5000 }));
      context.add(
        'call',
        call({ url: 'https://broken.example/x', durationMs: 1, status: null, error: 'connect ECONNREFUSED' }),
      );
    });
    expect(shown.database?.rows?.map(({ text, tone }) => [text, tone])).to.deep.equal([
      ['5 × select … from lines', 'bad'],
      ['select … from broken', 'bad'],
      ['select … from slow', 'warn'],
    ]);
    expect(shown.logs?.rows?.map(({ text, tone, row }) => [text, tone, row])).to.deep.equal([
      ['error it broke', 'bad', 'l2'],
      ['info fine', 'plain', 'l1'],
    ]);
    expect(shown.http_client?.rows?.map(({ text, tone }) => [text, tone])).to.deep.equal([
      ['POST https://broken.example/x', 'bad'],
      ['POST https://slow.example/x', 'plain'],
    ]);
    expect(shown.http_client?.rows?.[0]?.note).to.contain('ECONNREFUSED');
  });
});
