import { resolve } from 'node:path';
import { expect } from 'chai';
import { createDefinitions } from '../../app/observe/stacks/definitions.ts';

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
  const linesOf = (file: string): string[] | null =>
    Object.entries(FILES)
      .find(([name]) => file === resolve('/app', name))?.[1]
      .split('\n') ?? null;
  const find = createDefinitions({
    root: '/app',
    files: { lines: linesOf, changedAt: () => null },
    maps: { sourceLines: () => null },
  });
  const at = (mark: string, file = 'src/orders.ts'): string =>
    `${file}:${(FILES[file]?.split('\n') ?? []).findIndex((line) => line.includes(mark)) + 1}`;

  it('are found where they are defined: in its file or in one that this imports', () => {
    expect(find.at(at('// here'), 1)).to.deep.equal(['src/db.ts:3']);
    expect(find.at(at('const key = '), 1)).to.deep.equal(['src/orders.ts:8']);
    expect(find.at(at('const text'), 1)).to.deep.equal(['lib/format/index.js:2', 'src/money.ts:2']);
    expect(find.at(at('return prices'), 1)).to.deep.equal(['lib/prices.js:1', 'src/orders.ts:17']);
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
    const whole = createDefinitions({
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
    expect(whole.at('src/quotes.ts:12', 4)).to.deep.equal([
      'src/lib/size.ts:1',
      'src/lib/rates.ts:2',
      'src/lib/other.ts:1',
      'src/quotes.ts:17',
      'src/lib/base.ts:2',
      'src/log.ts:1',
    ]);
  });

  it('are none of packages, of types, or of the function around the line', () => {
    expect(find.at(at('// alone'), 1)).to.deep.equal([]);
    for (const place of ['src/orders.ts', 'src/gone.ts:1', 'src/orders.ts:900', ''])
      expect(find.at(place, 1), place).to.deep.equal([]);
  });
});
