/** The TypeScript of the documentation: each block is type-checked, and those that do something run. */
import { expect } from 'chai';
import express, { type Express, type Router } from 'express';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../app/paths.ts';
import { freshFolder } from '../support/fresh-folder.ts';
import { type FindingRule, type Panel } from '../../app/index.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { showPanel } from '../../app/testing.ts';
import { close, listen } from '../support/listen.ts';

const root = packageRoot();
/** The pages of findings show pieces of an application, before and after a fix. */
const PIECES = /findings\/(?!README)/;
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !PIECES.test(name))
    .map((name) => join('docs', name)),
];

/** The blocks of a page in their order, each without its indentation. */
function blocksOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return Array.from(text.matchAll(/^( *)```ts\n([\s\S]*?)^ *```$/gm), ([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

interface Example {
  page: string;
  /** Which blocks of the page, as one module. */
  blocks: readonly number[];
  /** The imports and names that the page takes for granted. */
  before?: string;
  after?: string;
}

const APP = `import express from 'express';
const app = express();
`;
const TESTED = `import hindsight from 'express-hindsight';
${APP}hindsight(app);
app.get('/orders', (_request, response) => { response.json([]); });
`;

const examples: Readonly<Record<string, Example>> = {
  readme: { page: 'README.md', blocks: [0] },
  started: { page: 'docs/getting-started.md', blocks: [0, 1], after: 'export { app };' },
  panel: {
    page: 'docs/extend/panels.md',
    blocks: [0],
    before: `import type { Panel } from '#app/profiler/panel.ts';
declare module '#app/profiler/record/facts.ts' { interface Facts { flag: { key: string; on: boolean; startMs: number; durationMs: number | null } } }`,
  },
  list: {
    page: 'docs/extend/panels.md',
    blocks: [1, 2, 3],
    before: `import { expect } from 'chai';
import { Context, ContextTracker } from '#app/profiler/record/context.ts';
import { listPanel } from '#app/panels/shared/list-panel.ts';
interface FlagClient { onRead(report: (key: string, on: boolean, ms: number) => void): () => void }`,
  },
  application: {
    page: 'docs/extend/panels.md',
    blocks: [4],
    before: `${APP}declare module 'express-hindsight' { interface Facts { ticket: { id: number } } }`,
    after: 'export { tickets };',
  },
  rule: { page: 'docs/findings/README.md', blocks: [0] },
  chai: { page: 'docs/guides/test-budgets.md', blocks: [0], before: TESTED },
  jest: {
    page: 'docs/guides/test-budgets.md',
    blocks: [1],
    before: `import request from 'supertest';
import type { HindsightMatchers } from 'express-hindsight/testing';
${TESTED}declare const expect: { (response: unknown): HindsightMatchers<void>; extend(matchers: object): void };`,
  },
  node: {
    page: 'docs/guides/test-budgets.md',
    blocks: [2],
    before: `import request from 'supertest';${TESTED}`,
  },
  vitest: {
    page: 'docs/guides/test-budgets.md',
    blocks: [3],
    after: `import type { Matchers } from 'vitest';
export const calls = (matchers: Matchers<void>): void => { matchers.toHaveQueriesBelow(5); };`,
  },
  router: { page: 'docs/service/README.md', blocks: [0] },
  routes: {
    page: 'docs/service/README.md',
    blocks: [1],
    before: "import type { RouteEntry } from './services.ts';",
  },
};

/** Modules that a page names as an application, or as a file of its folder, names them. */
function resolved(code: string): string {
  return code
    .replaceAll(/'(?:#app|\.\.)\/(profiler|panels|observe)\//g, `'${root}/app/$1/`)
    .replaceAll("'../support/", `'${root}/test/support/`)
    .replaceAll("'./services.ts'", `'${root}/app/routes/services.ts'`)
    .replaceAll("'./hello.ts'", "'./router.ts'")
    .replaceAll("'express-hindsight/testing'", `'${root}/app/testing.ts'`)
    .replaceAll("'express-hindsight'", `'${root}/app/index.ts'`);
}

function moduleOf({ page, blocks, before = '', after = '' }: Example): string {
  const found = blocksOf(page);
  return resolved([before, ...blocks.map((block) => found[block] ?? ''), after, 'export {};'].join('\n'));
}

interface Exported {
  app: Express;
  observeFlags: (client: { onRead: (report: ReadReport) => void }, tracker: ContextTracker) => void;
  tickets: Panel;
  coldCache: FindingRule<{ lookups: { hits: number; misses: { key: string; ms: number }[] } }>;
  default: (services: unknown) => Router;
  routes: unknown[];
}

type ReadReport = (key: string, on: boolean, ms: number) => void;

describe('the examples of the documentation', () => {
  let folder: string;
  /** What the module of an example exports. */
  async function run(name: string): Promise<Exported> {
    return (await import(pathToFileURL(join(folder, `${name}.ts`)).href)) as Exported;
  }

  before(() => {
    folder = freshFolder();
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, 'types'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      join(folder, 'types', 'vitest.d.ts'),
      'declare module "vitest" { export interface Matchers<T = any> { not: T } }',
    );
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        compilerOptions: {
          noUnusedLocals: false,
          rewriteRelativeImportExtensions: false,
          typeRoots: [join(root, 'node_modules/@types')],
        },
        include: ['*.ts', 'types/*.ts', join(root, 'app')],
      }),
    );
    for (const [name, example] of Object.entries(examples))
      writeFileSync(join(folder, `${name}.ts`), moduleOf(example));
  });

  it('are all here', () => {
    const here = Object.values(examples).flatMap(({ page, blocks }) =>
      blocks.map((block) => `${page} ${block}`),
    );
    const all = pages.flatMap((page) => blocksOf(page).map((_, block) => `${page} ${block}`));
    expect(here).to.have.members(all);
  });

  it('have no type error', function () {
    this.timeout(120_000);
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    try {
      execFileSync(process.execPath, [compiler, '-p', folder, '--checkers', '1'], { encoding: 'utf8' });
    } catch (error) {
      expect.fail((error as { stdout: string }).stdout);
    }
  });

  it('make an application with a token in each response and a page for a 404', async () => {
    const { app } = await run('started');
    const { server, origin } = await listen(app);
    try {
      const response = await fetch(`${origin}/nowhere`, { headers: { accept: 'text/html' } });
      expect(response.headers.get('x-debug-token')).to.match(/^[0-9a-f]{6}$/);
      expect(await response.text()).to.contain('No route found for');
    } finally {
      await close(server);
    }
  });

  it('make a panel of a list, and the observer of its facts', async () => {
    const { observeFlags } = await run('list');
    const reports: ReadReport[] = [];
    const tracker = new ContextTracker();
    const context = new Context({ token: '000002', kind: 'request' });
    observeFlags({ onRead: (report) => reports.push(report) }, tracker);
    tracker.run(context, () => reports[0]?.('dark-mode', true, 2));
    expect(context.all('flag' as never)[0]).to.include({ key: 'dark-mode', on: true, durationMs: 2 });
  });

  it('make a panel and a rule of an application', async () => {
    const { tickets } = await run('application');
    const shown = showPanel(tickets, (context) => {
      context.add('ticket' as never, { id: 7 } as never);
    });
    expect(shown.data).to.deep.equal({ ids: [7] });
    const { coldCache } = await run('rule');
    const misses = Array.from({ length: 20 }, (_, key) => ({ key: String(key), ms: 1 }));
    expect(coldCache.find({ lookups: { hits: 5, misses } }, {} as never, {} as never)[0]?.sentence).to.equal(
      '20 of 25 keys were missing from the cache',
    );
  });

  it('check the cost of a response', async () => {
    await run('chai');
    await run('node');
  });

  it('make a router of the service', async () => {
    const { default: createHello } = await run('router');
    const app = express().use(createHello({ db: () => ({ raw: () => ({ rows: [{ now: 'now' }] }) }) }));
    const { server, origin } = await listen(app);
    try {
      expect(await (await fetch(`${origin}/hello/ada`)).json()).to.deep.equal({ hello: 'ada', at: 'now' });
      expect((await run('routes')).routes).to.have.length(1);
    } finally {
      await close(server);
    }
  });
});
