import { expect } from 'chai';
import type { Knex } from 'knex';
import { observeKnex } from '../../../app/observe/knex.ts';
import { createQueryRecorder } from '../../../app/observe/queries.ts';
import { sqlLines } from '../../../app/panels/shared/sql-lines.ts';
import { type Binding, valuesInPlace } from '../../../app/panels/shared/sql-values.ts';
import { Context, ContextTracker } from '../../../app/profiler/context.ts';
import { openKnex, withPostgres } from '../../support/postgres.ts';

function write(sql: string, bindings: readonly Binding[], longest?: number): string {
  return valuesInPlace(sql, bindings, longest === undefined ? {} : { longest })
    .tokens.map(([, text]) => text)
    .join('');
}

function of(...values: Binding['value'][]): Binding[] {
  return values.map((value, at) => ({ name: `$${at + 1}`, value }));
}

describe('a statement of another database', () => {
  const write = (system: string, sql: string, ...bindings: Binding[]): string =>
    valuesInPlace(sql, bindings, { system })
      .tokens.map(([, text]) => text)
      .join('');

  it('writes a backslash and truth as SQLite does, by position, number and name', () => {
    const [path, yes] = [
      { name: '', value: "C:\\it's" },
      { name: '', value: true },
    ];
    expect(write('sqlite', 'select ? , ?', path, yes)).to.equal("select 'C:\\it''s' , 1");
    expect(write('sqlite', 'select ?2 , ?1', path, yes)).to.equal("select 1 , 'C:\\it''s'");
    expect(write('sqlite', 'select @a', path)).to.equal("select 'C:\\it''s'");
  });

  it('writes an object as MySQL’s drivers do, after SET', () => {
    const posts = { name: '', value: { title: "it's", 'a.b': [1, 2], at: null } };
    expect(write('mysql', 'insert into posts set ?', posts)).to.equal(
      "insert into posts set `title` = 'it\\'s', `a`.`b` = 1, 2, `at` = null",
    );
    const isWhole = (sql: string): boolean => valuesInPlace(sql, [posts], { system: 'mysql' }).isWhole;
    expect([isWhole('update posts SET ?'), isWhole('select * from posts where ?')]).to.deep.equal([
      true,
      false,
    ]);
  });

  it('says that it can’t be run if a value is missing', () => {
    expect(valuesInPlace('select ?, ?', of(1), { system: 'mysql' }).isWhole).to.equal(false);
    expect(valuesInPlace('select $1, $2', of(1)).isWhole).to.equal(false);
    expect(valuesInPlace(`select '{}'::jsonb ? 'a' and $1`, of(1)).isWhole).to.equal(true);
  });
});

describe('a statement with its values in place', () => {
  it('puts each where its placeholder stands, and nowhere else', () => {
    expect(
      write(`select $1, '$1', "$1", $2 -- $1\n from t where $tag$ $1 $tag$ = $1`, of(`o'x`, 3)),
    ).to.equal(`select 'o''x', '$1', "$1", 3 -- $1\n from t where $tag$ $1 $tag$ = 'o''x'`);
    expect(write('select $1, $2', of(1))).to.equal('select 1, $2');
    expect(write('select ? + ?', of(1))).to.equal('select 1 + ?');
  });

  it('takes the question mark for an operator where placeholders are numbered', () => {
    expect(write('select tags ? $1, a ?| b', of('x'))).to.equal(`select tags ? 'x', a ?| b`);
    expect(write(`select '{}'::jsonb ? 'a'`, [])).to.equal(`select '{}'::jsonb ? 'a'`);
  });

  it('marks values, so that they can be told from what the statement says', () => {
    const { tokens } = valuesInPlace('select 1, $1', of(2));
    expect(tokens.filter(([kind]) => kind === 'v')).to.deep.equal([['v', '2']]);
  });

  it('says where it can not run as it ran', () => {
    for (const value of [
      '[masked 3, string]',
      'x'.repeat(500) + '… (4500 more characters)',
      { a: 'b[masked 3, string]' },
      ['a', '… 12 more'],
    ])
      expect(valuesInPlace('select $1', of(value)).isWhole, JSON.stringify(value)).to.equal(false);
    const bytes: Binding = { name: 'a', value: '[Buffer, 2000 bytes]', type: 'bytes' };
    expect(valuesInPlace('select $1', [bytes]).isWhole).to.equal(false);
    expect(write('select $1', [bytes])).to.equal(`select '\\x' /* Buffer, 2000 bytes: not recorded */`);
    expect(valuesInPlace('select $1', of('plain', 1, null)).isWhole).to.equal(true);
  });

  it('leaves the placeholders of values that are not kept', () => {
    const bindings = [...of(1), { name: '…', value: '… 900 more' }];
    const { isWhole } = valuesInPlace('select $1, $2, $3', bindings);
    expect([write('select $1, $2, $3', bindings), isWhole]).to.deep.equal(['select 1, $2, $3', false]);
  });

  it('cuts long values where it is asked to', () => {
    expect(write('select $1', of('x'.repeat(100)), 10)).to.equal(`select 'xxxxxxxxx…'`);
  });
});

describe('a statement that is run again', () => {
  const server = withPostgres();
  const tracker = new ContextTracker();
  let knex: Knex;
  let observation: { close(): void };

  before(async () => {
    knex = openKnex(server().connection);
    await knex.raw(
      'create table kinds (t text, n numeric, d timestamptz, j jsonb, a text[], i bigint, b boolean)',
    );
    observation = observeKnex(knex, { tracker, queries: createQueryRecorder({ tracker }) });
  });
  after(async () => {
    observation?.close();
    await knex?.destroy();
  });

  /** What a statement gave, and what it gives with its values in place, formatted as the page shows it. */
  async function both(sql: string, values: readonly unknown[]): Promise<[unknown, unknown]> {
    const context = new Context({ token: '000001', kind: 'request' });
    let answer: unknown;
    await tracker.run(context, async () => {
      answer = (await knex.raw<{ rows: unknown }>(sql, values as Knex.RawBinding[])).rows;
    });
    const fact = context.first('query');
    if (fact === undefined) throw new Error('Nothing was recorded.');
    const bindings = fact.bindings.map((value, at): Binding => {
      const type = fact.types?.[at] ?? null;
      return type === null ? { name: '', value } : { name: '', value, type };
    });
    const text = sqlLines(valuesInPlace(fact.sql, bindings).tokens)
      .map((line) => line.map(([, part]) => part).join(''))
      .join('\n');
    const again = await knex.raw<{ rows: unknown }>(text.replaceAll('?', '\\?'));
    return [answer, again.rows];
  }

  it('gives what it gave, for values of every type', async () => {
    const moment = new Date('2026-11-20T18:06:29.123Z');
    const samples: [string, unknown[]][] = [
      ['select ?::text as v', [`it's "quoted" \\ back\\slash, 'twice' $1 ? -- no comment /* */`]],
      ['select ?::text as v', ['line\nbreak\ttab\rreturn \u0007 bell \u202e ünïcode 🎉']],
      ['select ?::text as v', ['']],
      ['select ?::int as v', [-5]],
      ['select 7 -?::int as v, 7 - ?::int as w', [-5, -6]],
      ['select ?::float8 as v', [1e-7]],
      ['select ?::bigint as v', [12345678901234567890n % 9223372036854775807n]],
      ['select ?::text as v', ['123n']],
      ['select ?::boolean as v, ?::boolean as w', [true, false]],
      ['select ?::text as v', [null]],
      ['select ?::timestamptz as v', [moment]],
      ['select ?::jsonb as v', [{ a: `o'x`, b: [1, null, '\\'], c: { d: true } }]],
      ['select ?::int[] as v', [[1, 2, 3]]],
      ['select ?::text[] as v', [['a', 'b c', 'd"e', 'f\\g', `h'i`, '', 'null', null, '{x}', 'y,z']]],
      ['select ?::bigint[] as v', [[9007199254740993n, 2n]]],
      ['select ?::int[][] as v', [[[1, 2], [3, 4]]]],
      [`select '{"1":"text"}'::jsonb ->> ? as v`, [1]],
      ['select array[1, 2] @> ? as v', [[1]]],
      ['select case when ? = 1 then ?::text end as v limit ?', [1, 'one', 1]],
    ]; // prettier-ignore
    for (const [sql, values] of samples) {
      const [ran, again] = await both(sql, values);
      expect(again, `${sql} ${String(values[0])}`).to.deep.equal(ran);
    }
  });

  it('fails as it failed for a text with NUL', async () => {
    let message = '';
    const context = new Context({ token: '000002', kind: 'request' });
    await tracker.run(context, async () => {
      await knex.raw('select ?::text', ['a\0b']).catch((error: unknown) => (message = String(error)));
    });
    expect(message).to.contain('0x00');
    const [value = null] = context.first('query')?.bindings ?? [];
    const text = write('select $1::text', [{ name: '', value }]);
    expect(text).not.to.contain('\0');
    let again = '';
    await knex.raw(text.replaceAll('?', '\\?')).catch((error: unknown) => (again = String(error)));
    expect(again).to.contain('0x00');
  });
});
