/**
 * What each page weighs and what it costs the server, with the heaviest request of the example shop: 200 statements, 500
 * log lines, 30 headers. Bytes are those of the HTML; milliseconds are CPU of the whole process, all threads, for each
 * answer at saturation: reading and completing the profile, rendering, and recording the page's own request.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshVarDir } from '../../test/support/postgres.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { rootFolder } from '../harness/folders.ts';
import { closedLoop } from '../harness/load.ts';
import { startProcess, type MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf, type Spread } from '../harness/statistics.ts';

const HEAVY = '/reports/daily';
const FAILING = '/products/9999';
const HEADERS = 30;
const WARM_UP = 60;
/** Slices of a page and requests in each. */
const SLICES = 5;
const REQUESTS = 40;
/** Milliseconds until what was recorded is stored. */
const STORED_MS = 1500;

interface Page {
  what: string;
  path: string;
}

function addressOf({ port }: MeasuredProcess, path: string): string {
  return `http://127.0.0.1:${port}${path}`;
}

/** The shop as a service of its own on the benchmark's PostgreSQL; its tables are made and filled at its start. */
async function startShop(bench: Bench, varDir: string): Promise<MeasuredProcess> {
  const { host, port, user, database } = (await bench.database()).connection;
  const shop = await startProcess({
    file: join(rootFolder, 'examples', 'shop', 'start.ts'),
    nodeOptions: ['--import', 'tsx'],
    readyPath: '/login',
    env: {
      APP_ENV: 'dev',
      APP_DEBUG: '1',
      DB_HOST: host,
      DB_PORT: String(port),
      DB_USER: user,
      DB_NAME: database,
      DB_SCHEMA: 'bench_shop',
      VAR_DIR: varDir,
    },
  });
  while ((await fetch(addressOf(shop, '/'))).status !== 200) await sleep(100);
  return shop;
}

/** Asks for a page of the shop and gives the token of its profile. */
async function record(shop: MeasuredProcess, path: string): Promise<string> {
  const headers = Object.fromEntries(
    Array.from({ length: HEADERS }, (_, number) => [`x-bench-${number}`, `value ${number} of a header`]),
  );
  const answer = await fetch(addressOf(shop, path), { headers });
  await answer.text();
  return answer.headers.get('x-debug-token') ?? '';
}

/** Names of the panels as the menu of a profile has them. */
async function panelsOf(shop: MeasuredProcess, token: string): Promise<string[]> {
  const html = await (await fetch(addressOf(shop, `/_profiler/${token}`))).text();
  return [...new Set(Array.from(html.matchAll(/\?panel=([a-z_]+)/g), ([, name = '']) => name))].sort();
}

async function pagesOf(shop: MeasuredProcess): Promise<Page[]> {
  for (let round = 0; round < 10; round++)
    for (const path of ['/', '/orders', '/orders/1', '/orders/2', '/login', '/nope'])
      await record(shop, path);
  const [first, second] = [await record(shop, HEAVY), await record(shop, HEAVY)];
  const failed = await record(shop, FAILING);
  await sleep(STORED_MS);
  const panels = await panelsOf(shop, second);
  const route = encodeURIComponent(HEAVY);
  return [
    ...panels
      .filter((name) => name !== 'exception')
      .map((name) => ({ what: `panel ${name}`, path: `/_profiler/${second}?panel=${name}` })),
    { what: 'panel exception', path: `/_profiler/${failed}?panel=exception` },
    { what: 'list', path: '/_profiler/' },
    { what: 'routes', path: '/_profiler/routes' },
    { what: 'one route', path: `/_profiler/routes?route=${route}&method=GET` },
    { what: 'compare', path: `/_profiler/compare?a=${first}&b=${second}` },
    { what: 'compare, with what is alike', path: `/_profiler/compare?a=${first}&b=${failed}&all=1` },
    { what: 'error page', path: FAILING },
  ];
}

/** CPU of an answer in milliseconds. */
async function cpuOf(shop: MeasuredProcess, path: string): Promise<Spread> {
  await closedLoop({ port: shop.port, path }, { requests: WARM_UP });
  const slices: number[] = [];
  for (let slice = 0; slice < SLICES; slice++) {
    const before = shop.cpu();
    const { requests } = await closedLoop({ port: shop.port, path }, { requests: REQUESTS });
    slices.push((shop.cpu().all - before.all) / requests / 1000);
  }
  return spreadOf(slices);
}

async function measure(shop: MeasuredProcess, { what, path }: Page): Promise<Figure[]> {
  const html = Buffer.from(await (await fetch(addressOf(shop, path))).arrayBuffer());
  const spread = await cpuOf(shop, path);
  return [
    { what: `${what}: HTML`, unit: 'KB', spread: spreadOf([html.length / 1000]) },
    { what: `${what}: CPU`, unit: 'ms', spread },
  ];
}

export const pages: Row = {
  name: 'pages',
  what: 'bytes and CPU of each page, for the heaviest request of the shop',
  async run(bench): Promise<Figure[]> {
    const varDir = freshVarDir();
    const shop = await startShop(bench, varDir);
    try {
      const figures: Figure[] = [];
      for (const page of await pagesOf(shop)) figures.push(...(await measure(shop, page)));
      return figures;
    } finally {
      await shop.stop();
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    }
  },
};
