/** The lines that led to a step or a finding, wherever it is shown. */
import { expect } from 'chai';
import { load } from 'cheerio';
import type { Finding } from '../../../app/index.ts';
import { call, lasting, query } from '../../support/observed-samples.ts';
import { everyPanel } from '../../support/every-page.ts';
import { usePages } from '../../support/page-client.ts';
import { createPageFixture } from '../../support/page-fixture.ts';

const SOURCES: Readonly<Record<string, readonly string[]>> = {
  'src/routes/basket.ts': ['', '', 'const basket = await baskets.add(sku);', ''],
  'src/baskets.ts': ['', 'export async function add(sku) {', '  const price = await prices.quote(sku);', ''],
  'src/guard.ts': [
    '',
    '',
    'export const guard = (check) =>',
    '  async (req, res, next) => {',
    '    if (!(await check(req))) return res.sendStatus(403);',
    '    next();',
    '  };',
  ],
  'src/wrap.ts': ['', '', 'export const wrap = (fn) => (req, res, next) => fn(req, res, next).catch(next);'],
  'src/prices.ts': ['export async function quote(sku) {', '  return client.get(sku);', '}', ''],
};
const PATH = ['src/baskets.ts:3', 'src/routes/basket.ts:3'];

describe('the lines that led to work', () => {
  const fixture = createPageFixture(everyPanel(), {
    sourceAt(place) {
      const lines = SOURCES[place.replace(/:\d+$/, '')];
      return lines === undefined ? null : { excerpt: { from: 1, lines: [...lines] }, changedAt: null };
    },
    rules: [
      {
        name: 'at-the-handler',
        needs: ['request'],
        labels: ['at the handler'],
        why: '',
        fix: '',
        find: (_kept, { url }) =>
          url === '/odd' ? [{ severity: 'warn', sentence: 'Odd', place: 'src/routes/basket.ts:2' }] : [],
      },
    ],
  });
  const server = usePages(fixture);

  async function profileToken(): Promise<string> {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 900);
        context.add('query', query({ caller: 'src/stock.ts:7', path: PATH, startMs: 5, durationMs: 1 }));
        context.add('query', query({ sql: 'select 2', caller: 'src/stock.ts:9', path: PATH.slice(1), startMs: 7, durationMs: 1 })); // prettier-ignore
        context.add('call', call({ url: 'http://prices.internal/lamp', caller: 'src/prices.ts:2', path: PATH, startMs: 10, durationMs: 800 })); // prettier-ignore
      },
    });
    return token;
  }

  async function textOf(end: string): Promise<string> {
    return (await fetch(`${server.address}/_profiler/${await profileToken()}${end}`)).text();
  }

  it('are in the short Markdown, with the code of the first and the nearest one', async () => {
    const text = await textOf('.md?length=short');
    const chain = 'src/routes/basket.ts:3 → src/baskets.ts:3 → src/prices.ts:2';
    expect(text).to.contain(`, at \`${chain}\`.`);
    const code = text.slice(text.indexOf('## Code'));
    expect(code).to.match(
      /3 \| const basket = await[^]*```[^]*3 \| {3}const price = await[^]*```[^]*> 2 \| {3}return client.*← call, slow call/,
    );
    expect(text.split('return client')).to.have.length(2);
    const lines = Array.from(text.matchAll(/\| `([^`|]*)` \|$/gm), ([, line]) => line);
    expect(lines).to.include.members([
      'src/routes/basket.ts:3 → src/baskets.ts:3 → src/stock.ts:7',
      'src/routes/basket.ts:3 → src/stock.ts:9',
      chain,
    ]);
  });

  it('have no code of a function that calls any handler', async () => {
    const { token } = await fixture.profileOf({
      more: (context) => {
        lasting(context, 900);
        context.add('call', call({ caller: 'src/prices.ts:2', path: ['src/wrap.ts:3'], startMs: 10, durationMs: 800 })); // prettier-ignore
      },
    });
    const text = await (await fetch(`${server.address}/_profiler/${token}.md?length=short`)).text();
    expect(text).to.contain('src/wrap.ts:3 → src/prices.ts:2').and.not.contain('export const wrap');
  });

  it('begin below a handler that a finding names, which has no such lines', async () => {
    const { token } = await fixture.profileOf({
      url: '/odd',
      more: (context) => {
        lasting(context, 9);
        context.add('query', query({ caller: 'src/prices.ts:2', path: PATH, startMs: 2, durationMs: 1, waitMs: 0 })); // prettier-ignore
      },
    });
    const text = await (await fetch(`${server.address}/_profiler/${token}.md?length=short`)).text();
    expect(text).to.match(/at the handler[^]*\n> 2 \| .*← at the handler\n[^]*3 \| {3}const price = await/);
  });

  it('are in the whole Markdown and, in full, in the JSON', async () => {
    expect(await textOf('.md')).to.contain('(`src/routes/basket.ts:3 → src/baskets.ts:3 → src/prices.ts:2`)');
    const { profile } = JSON.parse(await textOf('.json')) as { profile: { findings: Finding[] } };
    const finding = profile.findings.find(({ rule }) => rule === 'slow-call');
    expect(finding).to.deep.include({ place: 'src/prices.ts:2', path: PATH });
  });

  it('are on the page by the names of their files, each a link to its source', async () => {
    const $ = load(await textOf('?panel=overview'));
    const steps = $('#asked .pl')
      .toArray()
      .map((step) => $(step).text());
    expect(steps).to.include.members([
      'basket.ts:3 → baskets.ts:3 → src/stock.ts:7',
      'basket.ts:3 → src/stock.ts:9',
    ]);
    expect($('#asked .pl a[data-source]').length).to.be.above(3);
    expect($('.fi .is').text()).to.contain('basket.ts:3 → baskets.ts:3 → src/prices.ts:2');
  });
});
