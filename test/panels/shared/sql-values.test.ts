import { expect } from 'chai';
import { type Binding, valuesInPlace } from '../../../app/panels/shared/sql-values.ts';

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
    ).to.equal(`select 'o''x', '$1', "$1", '3' -- $1\n from t where $tag$ $1 $tag$ = 'o''x'`);
    expect(write('select $1, $2', of(1))).to.equal(`select '1', $2`);
    expect(write('select ? + ?', of(1))).to.equal(`select '1' + ?`);
    expect(write('select $1', of('a\0b'))).to.equal(`select E'a\\x00b'`);
  });

  it('takes the question mark for an operator where placeholders are numbered', () => {
    expect(write('select tags ? $1, a ?| b', of('x'))).to.equal(`select tags ? 'x', a ?| b`);
    expect(write(`select '{}'::jsonb ? 'a'`, [])).to.equal(`select '{}'::jsonb ? 'a'`);
  });

  it('marks values, so that they can be told from what the statement says', () => {
    const { tokens } = valuesInPlace('select 1, $1', of(2));
    expect(tokens.filter(([kind]) => kind === 'v')).to.deep.equal([['v', `'2'`]]);
  });

  it('says where it can not run as it ran', () => {
    expect(
      valuesInPlace('select $1', [{ name: '1', value: '[masked 1, number]' }], { longest: 40 }).tokens.at(
        -1,
      )?.[1],
    ).to.equal('[masked 1, number]');
    for (const value of ['[masked 3, string]', { a: 'b[masked 3, string]' }])
      expect(valuesInPlace('select $1', of(value)).isWhole, JSON.stringify(value)).to.equal(false);
    const bytes: Binding = { name: 'a', value: '[Buffer, 2000 bytes]', type: 'cut' };
    expect(valuesInPlace('select $1', [bytes]).isWhole).to.equal(false);
    expect(write('select $1', [bytes])).to.equal(`select '\\x' /* Buffer, 2000 bytes: not recorded */`);
    expect(valuesInPlace('select $1', of('plain', 1, null)).isWhole).to.equal(true);
  });

  it('leaves the placeholders of values that are not kept', () => {
    const bindings = [...of(1), { name: '…', value: '… 900 more' }];
    const { isWhole } = valuesInPlace('select $1, $2, $3', bindings);
    expect([write('select $1, $2, $3', bindings), isWhole]).to.deep.equal([`select '1', $2, $3`, false]);
  });

  it('cuts long values where it is asked to', () => {
    expect(write('select $1', of('x'.repeat(100)), 10)).to.equal(`select 'xxxxxxxxx…'`);
  });
});
