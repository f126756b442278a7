import { expect } from 'chai';
import { givenValue, readStatement } from '../../../app/panels/shared/read-statement.ts';

describe('what a statement asks for', () => {
  it('is read from its tokens: not from texts and comments', () => {
    const read = readStatement(
      `/* delete from x */ select * from "public"."users" as u where note = 'a where b = $9 or c' and lower(email) = $1 -- limit 5`,
    );
    expect(read).to.include({ verb: 'select', table: 'users', limit: null, isPlain: true, isStar: true });
    expect(read?.where).to.deep.equal([
      {
        column: 'note',
        operator: '=',
        wrapped: null,
        values: [{ kind: 'literal', text: 'a where b = $9 or c' }],
      },
      { column: 'email', operator: '=', wrapped: 'lower', values: [{ kind: 'bound', index: 0 }] },
    ]);
  });

  it('counts placeholders of one kind over the whole statement', () => {
    const read = readStatement('update `a` set `b` = ?, c = c + 1, d = ? where `a`.`id` = ?', 'mysql');
    expect(read?.sets).to.deep.equal([
      { column: 'b', value: { kind: 'bound', index: 0 } },
      { column: 'c', value: { kind: 'other' } },
      { column: 'd', value: { kind: 'bound', index: 1 } },
    ]);
    expect(read?.where?.[0]?.values).to.deep.equal([{ kind: 'bound', index: 2 }]);
  });

  it('has the limits of each dialect', () => {
    const limits = (sql: string, system?: string) => {
      const { limit, offset } = readStatement(sql, system) ?? {};
      return [limit, offset].map((value) =>
        value === null || value === undefined ? null : givenValue(value, []),
      );
    };
    expect(limits('select a from b limit 10 offset 20')).to.deep.equal(['10', '20']);
    expect(limits('select a from b limit 20, 10', 'mysql')).to.deep.equal(['10', '20']);
    expect(limits('select a from b offset 20 rows fetch next 10 rows only')).to.deep.equal(['10', '20']);
    expect(limits('select a from b where c in (select d from e limit 1)')).to.deep.equal([null, null]);
  });

  it('knows lists, casts, joins, aggregates and locks', () => {
    const read = readStatement(
      'select count(*) from a left join b on b.a = a.id join c on c.a = a.id where a.id not in (1, null) and a.d::text = $1 for update',
    );
    expect(read).to.include({ joins: 2, isAggregated: true, isLocking: true });
    expect(read?.where).to.deep.equal([
      {
        column: 'id',
        of: 'a',
        operator: 'not in',
        wrapped: null,
        values: [{ kind: 'literal', text: '1' }, { kind: 'null' }],
      },
      { column: 'd', operator: '=', wrapped: '::text', values: [{ kind: 'bound', index: 0 }] },
    ]);
    expect(readStatement('select a from b where c = 1 or d = 2')?.isPlain).to.equal(false);
  });

  it('gives up on others', () => {
    for (const sql of ['', 'begin', 'with a as (select 1) select * from a', 'select 1 union select 2'])
      expect(readStatement(sql), sql).to.equal(null);
  });
});
