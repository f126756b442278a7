import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'chai';
import { createDefinitions } from '../../app/observe/stacks/definitions.ts';
import { importsIn } from '../../app/observe/stacks/imports.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { atOnce } from '../../app/profiler/turns.ts';
import { cpuMsOf } from '../support/waiting.ts';

function placesOf(definitions: ReturnType<typeof createDefinitions>, place: string, count: number): string[] {
  return atOnce(definitions.at(place, count));
}

function definitionsOf(files: Readonly<Record<string, string>>) {
  return createDefinitions({
    root: '/app',
    files: {
      lines: (file) =>
        Object.entries(files)
          .find(([name]) => file === resolve('/app', name))?.[1]
          .split('\n') ?? null,
      changedAt: () => null,
    },
    maps: { sourceLines: () => null },
  });
}

describe('names that a line uses', () => {
  const FILES: Readonly<Record<string, string>> = {
    'src/orders.ts': `import express from 'express';
import type { Order } from './types.js';
import { db as store, type Row } from './db.js';
import * as money from './money.js';
const prices = require('../lib/prices');
const { format } = require('../lib/format');

const keyOf = (id: number) => \`order:\${id}\`;

export async function total(id: number) {
  const key = keyOf(id);
  const rows = await store.query(key); // here
  const text = format(money.sum(rows));
  return prices.of(rows, other(1), 'keyOf(id)', text);
}

export function other(count: number) {
  return count; // alone
}`,
    'src/db.ts': "import pg from 'pg';\n\nexport const db = { query: pg.query };",
    'src/money.ts': '\nexport async function sum(rows) {}',
    'lib/prices.js': 'exports.of = (rows) => rows;',
    'lib/format/index.js': "'use strict';\nfunction format(text) {}\nmodule.exports = { format };",
  };
  const find = definitionsOf(FILES);
  const at = (mark: string, file = 'src/orders.ts'): string =>
    `${file}:${(FILES[file]?.split('\n') ?? []).findIndex((line) => line.includes(mark)) + 1}`;

  it('are found where they are defined: in its file or in one that this imports', () => {
    expect(placesOf(find, at('// here'), 1)).to.deep.equal(['src/db.ts:3']);
    expect(placesOf(find, at('const key = '), 1)).to.deep.equal(['src/orders.ts:8']);
    expect(placesOf(find, at('const text'), 1)).to.deep.equal(['lib/format/index.js:2', 'src/money.ts:2']);
    expect(placesOf(find, at('return prices'), 1)).to.deep.equal(['lib/prices.js:1', 'src/orders.ts:17']);
  });

  it('of a minified file and of a bundle take no time', () => {
    const names = Array.from({ length: 60_000 }, (_, at) => `a${at}.b${at}(c${at})`).join(';');
    const bundle = Array.from({ length: 20_000 }, (_, at) => `  x${at}.y(z${at});`).join('\n');
    const many = definitionsOf({
      'min.js': `import a from 'a';${names}`,
      'bundle.js': bundle,
      'imports.js': `${'import { a, '.repeat(30)}\n`.repeat(800),
      'exports.js': `import { a } from './exports.js';\na.b();\n${`${'export { a '.repeat(30)}\n`.repeat(800)}`,
    });
    const ms = cpuMsOf(() => {
      for (const place of ['min.js:1', 'bundle.js:1', 'imports.js:1', 'exports.js:1'])
        placesOf(many, place, 40);
    });
    expect(ms).to.be.lessThan(1500);
  });

  it('of whole functions are values and methods of fields and of base classes, too, through files that only export', () => {
    const files: Readonly<Record<string, string>> = {
      'src/quotes.ts': `import { RATES, Rates } from './lib';
import { Pool } from 'pg';
import Base from './lib/base';
import { log } from '@/log';
import { Size } from './lib/size';

const pool = new Pool();

export class Quotes extends Base {
  constructor(private readonly rates: Rates) {}

  async of(size: Size) {
    const rate = await this.rates.read(RATES[size]);
    return this.#rounded(this.checked(log(rate)), pool);
  }

  #rounded(rate) {
    return Math.round(rate);
  }
}`,
      'src/lib/index.ts': "export * from './other';\nexport { Rates } from './rates';",
      'src/lib/other.ts': 'export const RATES = { small: 1 };',
      'src/lib/rates.ts': 'export class Rates {\n  async read(name) {\n    return 1;\n  }\n}',
      'src/lib/base.ts': 'export default abstract class Base {\n  checked(rate) {\n    return rate;\n  }\n}',
      'src/lib/size.ts': 'export class Size {\n  @IsInt()\n  width: number;\n}',
      'src/log.ts': 'export const log = (value) => value;',
    };
    const whole = definitionsOf(files);
    expect(placesOf(whole, 'src/quotes.ts:12', 4)).to.deep.equal([
      'src/lib/size.ts:1',
      'src/lib/rates.ts:2',
      'src/lib/other.ts:1',
      'src/quotes.ts:17',
      'src/lib/base.ts:2',
      'src/log.ts:1',
    ]);
  });

  it('are values of CommonJS, the options of a client, and statements that change it', () => {
    const files: Readonly<Record<string, string>> = {
      'src/mail.js': `const { Queue } = require('bullmq');
const settings = require('./settings');
const { retry, Order } = require('./config');

const queue = new Queue('mail', {
  attempts: 3,
});
const small = new Queue('small');

exports.send = (to) => {
  small.add(Order);
  return queue.add({ ...settings, to, delay: retry.delay });
};`,
      'src/settings.js': "'use strict';\nmodule.exports = {\n  cc: [],\n};",
      'src/config.js': `const Order = require('./order')(db);
Order.hasMany(Order);
module.exports = {
  port: 1,
  retry: { delay: 2 },
  Order,
};`,
      'src/order.js': 'module.exports = (db) => db.define();',
    };
    const commonJs = definitionsOf(files);
    expect(placesOf(commonJs, 'src/mail.js:10', 4)).to.deep.equal([
      'src/config.js:1',
      'src/config.js:2',
      'src/mail.js:5',
      'src/settings.js:2',
      'src/config.js:5',
    ]);
    expect(atOnce(commonJs.at('src/mail.js:10', 4, 'Order'))).to.deep.equal([
      'src/config.js:1',
      'src/config.js:2',
    ]);
  });

  it('are none of packages, of types, or of the function around the line', () => {
    expect(placesOf(find, at('// alone'), 1)).to.deep.equal([]);
    for (const place of ['src/orders.ts', 'src/gone.ts:1', 'src/orders.ts:900', ''])
      expect(placesOf(find, place, 1), place).to.deep.equal([]);
  });
});

describe('names that nothing imports', () => {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'names-'));
  const definitions = createDefinitions({
    root,
    files: createSourceFiles({ roots: [root] }),
    maps: { sourceLines: () => null },
  });
  const FILES: Readonly<Record<string, string>> = {
    'src/app.js': `import { createPipeline } from './core/pipeline.js';
import { levelRoutes } from './levels.js';

export function createApp() {
  const intake = createPipeline();
  app.use(levelRoutes({ limit: 2 }, intake, { audit: new Audit() }));
}

class Audit {
  open(id) {}
}`,
    'src/levels.js': `export function levelRoutes(options, sink, { audit, cradle }) {
  router.post('/', (req, res) => {
    sink.push(req.body);
    audit.open(options.limit);
    cradle.calculator.create(1);
  });
}`,
    'src/core/pipeline.js': `export function createPipeline() {
  return {
    push: (level) => level,
  };
}`,
    'src/core/calculator.js': 'export class Calculator {\n  create(price) {}\n}',
    'src/core/other.js': 'export class Other {\n  push(price) {}\n  create(price) {}\n}',
    'src/stations.js': `export function stationRoutes() {
  const version = (req) => {
    const label = (text) => text;
    return label(req.lang);
  };

  const hidden = (req) => req;

  router.get('/:no', revalidate(version), (req, res) => {
    res.json(label(req));
  });
}

function other() {
  return hidden(1);
}`,
    'src/market.js': `market.emit('bid', lot);
market.emit(Events.SOLD, lot);
market.emit('error', lot);`,
    'src/screens.js': `export class Screen {
  open() {
    this.market.on('bid', (lot) => lot);
    this.market.once('error', (lot) => lot);
  }
  close() {
    this.market.off("bid", this.onBid);
  }
  @OnEvent(Events.SOLD)
  sold() {}
}`,
    'src/catalogue/catalogue.js': `export function createCatalogue(cache) {
  return {
    scores: () => cache.fetch('all'),
    latest: async (n) => {
      return (await cache.fetch('all')).slice(0, n);
    },
    one: () => cache.fetch('one'),
  };
}`,
    'src/catalogue/routes.js': `router.get('/', async (req, res) => {
  res.json(sorted(await catalogue.scores()));
});
router.get('/latest', async (req, res) => res.json(await catalogue.latest(6)));
router.get('/one', async (req, res) => res.json(await catalogue.one()));`,
    'src/pages.js': `import { plant } from './plants.js';

router.get('/', async (req, res) => {
  res.json(inKilo(await plant(1)));
});`,
    'src/other/pages.js': 'catalogue.scores();\nplant(1);',
    'src/plants.js': `export function plant(id) {
  return remember(id, async () => load(id));
}`,
    'src/lib/remember.js': `export async function remember(key, load) {
  const hit = store.get(key);
  return hit ?? load();
}`,
    'src/ddl.js':
      'export const ddl = `\ncreate table if not exists "sheets" (\n  id int\n);\ncreate table notes (sheet int REFERENCES sheets)`;',
  };

  before(() => {
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    atOnce(definitions.refresh());
  });

  after(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it('are arguments of the factory around the line, by the file that calls it', () => {
    expect(placesOf(definitions, 'src/levels.js:3', 1)).to.deep.equal(['src/core/pipeline.js:3']);
    expect(placesOf(definitions, 'src/levels.js:4', 1)).to.deep.equal(['src/app.js:10']);
  });

  it('are objects of a container, by its property', () => {
    expect(placesOf(definitions, 'src/levels.js:5', 1)).to.deep.equal(['src/core/calculator.js:2']);
  });

  it('have the lines of SQL that create or reference a table', () => {
    expect(definitions.tables('Sheets')).to.deep.equal(['src/ddl.js:2', 'src/ddl.js:5']);
    expect(definitions.tables('notes')).to.deep.equal(['src/ddl.js:5']);
    expect(definitions.tables('sheet')).to.deep.equal([]);
  });

  it('are functions within the function around the line, if its code can use them', () => {
    expect(placesOf(definitions, 'src/stations.js:9', 1)).to.deep.equal(['src/stations.js:2']);
    expect(placesOf(definitions, 'src/stations.js:10', 1)).to.deep.equal([]);
    expect(placesOf(definitions, 'src/stations.js:15', 1)).to.deep.equal([]);
  });

  it('are listeners of an event that is emitted', () => {
    expect(placesOf(definitions, 'src/market.js:1', 1)).to.deep.equal([
      'src/screens.js:3',
      'src/screens.js:7',
    ]);
    expect(placesOf(definitions, 'src/market.js:2', 1)).to.deep.equal(['src/screens.js:9']);
    expect(placesOf(definitions, 'src/market.js:3', 1)).to.deep.equal([]);
  });

  it('are those that share an object of a cache, by what reads its entry', () => {
    const sharing = (...places: string[]): string[] => atOnce(definitions.sharing(places));
    expect(sharing('src/catalogue/catalogue.js:5', 'src/catalogue/routes.js:4')).to.deep.equal([
      'src/catalogue/routes.js:4',
      'src/catalogue/routes.js:2',
    ]);
    expect(sharing('src/lib/remember.js:2', 'src/plants.js:2', 'src/catalogue/routes.js:4')).to.deep.equal([
      'src/pages.js:4',
    ]);
    expect(sharing('src/catalogue/routes.js:4')).to.deep.equal([]);
  });

  it('are found in linear time: an upload may lie among the sources', () => {
    for (const piece of [
      `const {${'a,'.repeat(50)}`,
      `const a${'\n'.repeat(300)}`,
      `const ${' '.repeat(300)}`,
    ])
      expect(importsIn([piece.repeat(20_000)]).size).to.equal(0);
  });
});
