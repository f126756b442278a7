/** The style page (test/views/style-page.ejs): every shared part of the pages in all its states. */
import { join } from 'node:path';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { panelShown } from '../../app/controllers/profiler/panel-shown.ts';
import { packageRoot } from '../../app/paths.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import { SPAN_KINDS } from '../../app/profiler/span.ts';
import { createPageRenderer } from '../../app/render/render-page.ts';
import { snapshotOf } from './error-page.ts';
import { HOSTILE } from './page-samples.ts';
import { profileIndex } from './profile-index.ts';

const TOKEN = '9be04d';
const MOMENT = Date.UTC(2026, 10, 20, 14, 32, 7);

function menuItem(name: string, text: string | null, tone = 'plain'): object {
  return { name, title: name, key: name[0], summary: text === null ? null : { text, tone } };
}

function row(token: string, more: Partial<ProfileIndex>): ProfileIndex {
  return profileIndex({
    token,
    url: '/orders?page=2',
    startedAt: MOMENT,
    durationMs: 12.5,
    queries: 3,
    ...more,
  });
}

function fail(): unknown {
  const cause = new AggregateError([new RangeError('one'), new TypeError('two')], 'both failed');
  return Object.assign(new Error('A message that is the heading', { cause }), {
    code: 'E_STYLE',
    note: 'x'.repeat(400),
  });
}

/** Served beside the assets of the package; `editor` off shows places as text. */
export function renderStylePage(): string {
  const root = packageRoot();
  const renderPage = createPageRenderer({
    viewsFolder: [join(root, 'views'), join(root, 'test', 'views')],
    assets: createAssets(),
    editor: { url: 'vscode://file/%f:%l:%c', root: '/home/dev/shop' },
  });
  const failed = snapshotOf({
    error: fail(),
    prepare: (context) => {
      const line = { channel: 'shop', context: null, caller: null, atMs: 3 };
      for (const level of ['debug', 'info', 'warn', 'error'] as const)
        context.add('log', { ...line, level, message: `a line of level ${level}` });
    },
  });
  const unknown: Panel = { name: 'cache', title: 'A panel without a view', collect: () => null };
  const profile = {
    ...failed,
    dropped: { query: 12 },
    panels: { cache: { data: { hits: 3 }, summary: null, error: null } },
  };
  return renderPage('style-page', {
    token: TOKEN,
    moment: MOMENT,
    failed,
    thrown: failed.panels.exception?.data,
    profile,
    unknownPanel: panelShown(unknown, { profile, query: {}, amendments: {} }),
    menu: {
      main: [
        menuItem('exception', '3', 'bad'),
        menuItem('database', 'N+1 · 23', 'warn'),
        menuItem('logs', '4'),
      ],
      more: [menuItem('runtime', '12 ms')],
      empty: [menuItem('views', null)],
    },
    kinds: Object.entries(SPAN_KINDS).map(([kind, { label }]) => [kind, label]),
    metrics: [
      { label: 'in all', ms: 313.6 },
      { label: 'database', ms: 89 },
      { label: 'not known', ms: null },
    ],
    timeline: {
      totalMs: 313.6,
      slices: [
        { kind: 'app', startMs: 0, durationMs: 15 },
        { kind: 'db', startMs: 15, durationMs: 89 },
        { kind: 'connection', startMs: 104, durationMs: 38 },
        { kind: 'out', startMs: 142, durationMs: 140 },
        { kind: 'blocked', startMs: 284, durationMs: 7 },
        { kind: 'view', startMs: 293, durationMs: 18 },
      ],
      shares: [{ kind: 'out', label: 'Outgoing calls', ms: 140, allMs: 140, lostTo: null, count: 1 }],
    },
    trend: { box: '0 0 30 10', plain: 'M0 10v-6h9v6z', failed: 'M10 10v-3h9v3z' },
    values: [
      { name: 'short', value: 'text' },
      { name: 'empty', value: '' },
      { name: 'with a remark', value: 'text', say: 'masked: name' },
      { name: 'masked', value: 'Bearer [masked 1, string]' },
      { name: 'an object', value: { a: 1, list: [1, 2, 3] } },
      { name: 'of several lines', value: 'one\ntwo\nthree' },
      ...Object.entries(HOSTILE).map(([name, value]) => ({ name, value })),
      { name: 'a-name-without-an-end-'.repeat(20), value: 'text' },
    ],
    rows: [
      row('a00001', {}),
      row('a00002', {
        method: 'POST',
        status: 404,
        marks: [{ label: 'wrong method', severity: 'warn' }],
        findings: 2,
      }),
      row('a00003', { status: 500, error: 'Error: no', url: `/${'x'.repeat(300)}` }),
    ],
    excerpt: {
      from: 8,
      lines: [
        'export async function totalOf<T extends Order>(order: T): Promise<number> {',
        '  // The gateway leaves amount out when it refuses the card.',
        '  const rows = await knex(`orders_${order.year}`).where({ id: order.id });',
        "  if (/^[a-z]+$/i.test(order.note)) return 0x1f + Number('12');",
        '  return rows.reduce((sum, { total }) => sum + total.minor, 0);',
        '}',
      ],
    },
    findings: [
      { label: 'N+1', severity: 'bad', sentence: '23 × select, 89 ms of 314 ms.', place: 'src/orders/order-view.ts:41', panel: 'database', anchor: 'q-1' },
      { label: 'slow', severity: 'warn', sentence: 'A sentence without a place.', panel: 'database' },
      { label: 'unknown', severity: 'info', sentence: `One with a long text: ${'y'.repeat(700)}`, place: 'content-type', panel: 'request' },
    ], // prettier-ignore
  });
}
