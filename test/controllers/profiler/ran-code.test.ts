/** The functions that ran, on the overview and in its Markdown. */
import { resolve } from 'node:path';
import { expect } from 'chai';
import { load } from 'cheerio';
import { createDefinitions } from '../../../app/observe/stacks/definitions.ts';
import { excerptOf } from '../../../app/observe/stacks/place-excerpts.ts';
import { cacheCommand, call, lasting, layer, query } from '../../support/observed-samples.ts';
import { everyPanel } from '../../support/every-page.ts';
import { usePages } from '../../support/page-client.ts';
import { createPageFixture } from '../../support/page-fixture.ts';

const FILES: Readonly<Record<string, string>> = {
  'src/routes.ts': `import { orders } from './orders.ts';
import { wrap } from './wrap.ts';

router.get(
  '/orders/:id',
  wrap(async (req, res) => {
    res.json(await orders.read(req.params.id));
  }),
);

router.get('/health', (req, res) => res.sendStatus(204));`,
  'src/orders.ts': `import { priceOf } from './prices.ts';
import { find } from './store.ts';

class Orders {
  constructor() {
    this.seen = 0;
  }

  async read(id) {
    this.note(id);
    const order = await find(id);
    return { ...order, price: priceOf(order) };
  }

  note(id) {
    this.seen++;
  }

${'  // Nothing.\n'.repeat(40)}}

export const orders = new Orders();`,
  'src/letters.ts': `import { ready } from './ready.ts';
import { late } from './late.ts';

router.post('/letters', ready, (req, res) => {
  late(req);
});

/**
 * The text of a letter.
 * It is sent as it is.
 * One.
 * Two.
 */
export function letter() {
  throw new Error(TEXT);
}

const TEXT = \`Dear,

\${name}\`;
`,
  'src/scores.ts': `export function scoreRoutes(router) {
  const version = (req) => req.lang;

  const unused = (req) => req.lang;

  router.get('/scores', revalidate(version), (req, res) => {
    res.json(scores());
  });
}`,
  'src/shelf.ts': `export const scores = () => cache.fetch('all');

export function sorted() {
  return scores().sort(order);
}

const order = (a, b) => a - b;`,
  'src/ready.ts': 'export const ready = (req, res, next) => next(new Error());',
  'src/late.ts': 'export const late = (req) => req;',
  'src/ddl.ts': `export const DDL = \`
create table parts (
  id int
);
create table bolts (
  id int,
  part int references parts
);
\`;`,
  'src/prices.ts': `const RATES = { small: 2, large: 3 };

export const priceOf = (
  order,
) => {
  return RATES[order.size];
};`,
  'src/store.ts': `export async function find(id) {
  const [row] = await db.query('select 1', [id]);
  return row;
}

export async function remove(id) {
  await db.query('delete', [id]);
}`,
  'src/app.ts': `import { Pool } from 'pg';
import { apiKey } from './api-key.ts';

const pool = new Pool({ max: 2 });

app.use(apiKey);
app.use((req, res, next) => {
  req.pool = pool;
  next();
});
app.use(json());`,
  'src/api-key.ts': `const KEYS = new Map();

export function apiKey(req, res, next) {
  if (KEYS.has(req.get('x-api-key'))) return next();
  res.sendStatus(401);
}`,
  'src/wrap.ts': 'export const wrap = (fn) => (req, res, next) => fn(req, res, next).catch(next);',
};

function linesOf(file: string): string[] | null {
  const found = Object.entries(FILES).find(([name]) => file === name || file === resolve('/app', name));
  return found?.[1].split('\n') ?? null;
}

describe('the code that ran', () => {
  const fixture = createPageFixture(everyPanel(), {
    sourceAt(place) {
      const [, file = '', line] = /^(.*):(\d+)$/.exec(place) ?? [];
      const excerpt = excerptOf(linesOf(file) ?? [], Number(line), { before: 40, after: 40 });
      return excerpt === null ? null : { excerpt, changedAt: file === 'src/store.ts' ? changedAt : null };
    },
    definitions: {
      ...createDefinitions({
        root: '/app',
        files: { lines: linesOf, changedAt: () => null },
        maps: { sourceLines: () => null },
      }),
      sharing: function* ([read]) {
        yield;
        return read === 'src/shelf.ts:1' ? ['src/shelf.ts:4'] : [];
      },
      tables: (name) => (name === 'parts' ? ['src/ddl.ts:2', 'src/ddl.ts:7'] : []),
    },
  });
  const server = usePages(fixture);
  let changedAt: number | null = null;

  beforeEach(() => {
    changedAt = null;
  });

  async function read(suffix: string, places: readonly [string, string[]][]): Promise<string> {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        for (const [at, [caller, path]] of places.entries())
          context.add('query', query({ sql: `select ${at}`, caller, path, startMs: at, durationMs: 1 }));
      },
    });
    return (await fetch(`${server.address}/_profiler/${token}${suffix}`)).text();
  }

  const PATH: [string, string[]][] = [
    ['src/store.ts:2', ['src/orders.ts:11', 'src/routes.ts:7', 'src/wrap.ts:1']],
  ];

  function codeIn(text: string): Record<string, string> {
    const section = /## Code\n\n([^]*?)\n\n(?:## |In full)/.exec(text)?.[1] ?? '';
    const blocks = section.matchAll(/^`?(src\/[\w.-]+)`?\n\n```ts\n([^]*?)\n```/gm);
    return Object.fromEntries(
      Array.from(blocks, ([, file = '', code = '']): [string, string] => [file, code]),
    );
  }

  it('is whole functions, in the order in which they ran, then those that they use', async () => {
    for (const suffix of ['.md', '.md?length=short']) {
      const code = codeIn(await read(suffix, PATH));
      expect(Object.keys(code), suffix).to.deep.equal([
        'src/routes.ts',
        'src/orders.ts',
        'src/store.ts',
        'src/prices.ts',
      ]);
      expect(code['src/routes.ts']).to.match(/^ +4 \| router\.get\([^]*\n +9 \| \);$/);
      expect(code['src/store.ts']).to.equal(
        [
          '  1 | export async function find(id) {',
          "> 2 |   const [row] = await db.query('select 1', [id]);  // ← query 1",
          '  3 |   return row;',
          '  4 | }',
        ].join('\n'),
      );
      expect(code['src/prices.ts']).to.match(
        /^ +1 \| const RATES[^]*\n +3 \| export const priceOf[^]*7 \| \};$/,
      );
    }
  });

  it('has the methods of a class that is too long, also those that they call', async () => {
    const { 'src/orders.ts': code = '' } = codeIn(await read('.md', PATH));
    expect(code).to.match(/^ +9 \| {3}async read\(id\) \{[^]*13 \| {3}\}\n +\|\n +15 \| {3}note\(id\)/);
    expect(code).to.not.contain('Nothing');
  });

  it('names each step at its line', async () => {
    const { 'src/store.ts': code = '' } = codeIn(
      await read('.md', [...PATH, ['src/store.ts:7', []], ...PATH]),
    );
    expect(code).to.match(/2 \| .*← query 1, query 3$/m);
    expect(code).to.match(/7 \| .*← query 2$/m);
  });

  it('has the functions of an earlier request that wrote to a table which this one read', async () => {
    const { token: writer } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const [caller, path] = ['src/store.ts:7', ['src/orders.ts:16']];
        const all = { sql: 'delete from parts', caller, path, rows: 3, startMs: 1, durationMs: 1 };
        context.add('query', query(all));
      },
    });
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const sums = { sql: 'select count(*) from parts', caller: 'src/store.ts:2', path: [], startMs: 1 };
        context.add('query', query({ ...sums, durationMs: 1 }));
      },
    });
    const code = codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text());
    expect(code['src/store.ts']).to.match(/^> 2 \| .*\/\/ ← query 1$/m);
    expect(code['src/store.ts']).to.match(
      new RegExp(`^> 7 \\| .*// ← .*last write to parts: .*\\(${writer}\\)$`, 'm'),
    );
    expect(code['src/orders.ts']).to.match(/^ +15 \| {3}note\(id\)/m);
  });

  it('has middleware of the application by the lines that register it, and no client of a package', async () => {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        for (const [name, line] of [
          ['apiKey', 6],
          ['', 7],
          ['jsonParser', 11],
        ] as const)
          context.add('layer', layer({ name, source: `src/app.ts:${line}`, startMs: line }));
      },
    });
    const text = await (await fetch(`${server.address}/_profiler/${token}.md`)).text();
    const code = codeIn(text);
    expect(Object.keys(code)).to.deep.equal(['src/api-key.ts', 'src/app.ts']);
    expect(code['src/api-key.ts']).to.match(/1 \| const KEYS[^]*3 \| export function apiKey/);
    expect(code['src/app.ts']).to.match(/^ +7 \| app\.use\(\(req[^]*10 \| \}\);$/);
  });

  it('has tables that the request wrote to and those that reference them, last', async () => {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const insert = { sql: 'insert into parts values (1)', caller: 'src/store.ts:2', path: [], rows: 1 };
        context.add('query', query({ ...insert, startMs: 1, durationMs: 1 }));
      },
    });
    const code = codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text());
    expect(Object.keys(code).at(-1)).to.equal('src/ddl.ts');
    expect(code['src/ddl.ts']).to.match(
      /^ +2 \| create table parts[^]* 4 \| \);\n +5 \| .*\n.*\n +7 \| .*references parts\n +8 \| \);$/,
    );
  });

  it('has the comment above a function, a template to its end, and the line that threw', async () => {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const error = new Error('no');
        error.stack = `Error: no\n    at letter (${resolve('src/letters.ts')}:15:9)`;
        context.add('error', { error, origin: 'handled', atMs: 1, status: 400 });
      },
    });
    const code = codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text());
    expect(code['src/letters.ts']).to.match(
      / 8 \| \/\*\*\n +9 .*\n +10 .*\n +11 \| .*\n +\|\n +14 \| export/,
    );
    expect(code['src/letters.ts']).to.match(/^> 15 \| .*← .*$/m);
    expect(code['src/letters.ts']).to.match(/18 \| const TEXT[^]*20 \| \$\{name\}`;$/m);
  });

  it('has no code behind the function of a route that ran last', async () => {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const [pattern, source] = ['/letters', 'src/letters.ts:4'];
        context.add('layer', layer({ kind: 'handler', name: 'ready', pattern, source, startMs: 1 }));
        context.add('route', { method: 'GET', pattern, handler: 'ready', source, params: {} });
      },
    });
    const code = codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text());
    expect(Object.keys(code)).to.deep.equal(['src/letters.ts', 'src/ready.ts']);
  });

  it('has functions within the one that registers it, alone', async () => {
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 20);
        const [pattern, source] = ['/scores', 'src/scores.ts:6'];
        context.add('layer', layer({ kind: 'handler', pattern, source, startMs: 1 }));
        context.add('route', { method: 'GET', pattern, handler: null, source, params: {} });
      },
    });
    const code = codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text());
    expect(code['src/scores.ts']).to.match(/^ +1 \| export[^\n]*\n +2 \| .*version[^\n]*\n +\|\n +6 \|/);
  });

  it('has those that share an object of a cache in the process, with what they use', async () => {
    const readBy = async (system: 'memory' | 'redis'): Promise<string | undefined> => {
      const { token } = await fixture.profileOf({
        more(context) {
          lasting(context, 20);
          context.add('cache', cacheCommand({ system, caller: 'src/shelf.ts:1', startMs: 1 }));
        },
      });
      return codeIn(await (await fetch(`${server.address}/_profiler/${token}.md`)).text())['src/shelf.ts'];
    };
    expect(await readBy('memory')).to.match(/^> 1 .*\n +\|\n +3 [^]*\n +5 .*\n +\|\n +7 \| const order/);
    expect(await readBy('redis')).to.match(/^> 1 .*$/);
  });

  it('has no file that was changed since, and no other code', async () => {
    changedAt = Date.now() + 60_000;
    expect(codeIn(await read('.md', PATH))).to.not.have.property('src/store.ts');
    expect(codeIn(await read('.md', [['node_modules/x/index.js:1', []]]))).to.deep.equal({});
  });

  it('stands on the page, open if nothing was found', async () => {
    const $ = load(await read('?panel=overview', PATH));
    expect($('#code summary').text()).to.contain('src/orders.ts');
    expect($('#code details[open]').length).to.equal($('#code details').length);
    expect($('#code .loop').text()).to.contain('← query 1');
    const { token } = await fixture.profileOf({
      more(context) {
        lasting(context, 900);
        context.add('call', call({ caller: 'src/store.ts:2', startMs: 5, durationMs: 880 }));
      },
    });
    const slow = load(await (await fetch(`${server.address}/_profiler/${token}?panel=overview`)).text());
    expect(slow('#code details').length).to.be.above(0);
    expect(slow('#code details[open]').length).to.equal(0);
  });
});
