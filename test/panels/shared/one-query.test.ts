import { expect } from 'chai';
import { inOneQuery } from '../../../app/panels/shared/one-query.ts';

const ONE = { bindings: [{ name: 'id', value: 7 }, { name: 'limit', value: 1 }, { name: 'offset', value: 0 }] }; // prettier-ignore

function one(sql: string, limit = 1): string | null {
  const bindings = ONE.bindings.map((bound) => (bound.name === 'limit' ? { ...bound, value: limit } : bound));
  return inOneQuery(sql, 'id', { bindings });
}

describe('one query instead of a loop', () => {
  it('is the read with a list of values, and the column that tells its rows apart', () => {
    const pairs: [string, string][] = [
      ['select * from t where id = $1', 'select * from t where id = any($1)'],
      ['select name from t where id = $1;', 'select id, name from t where id = any($1)'],
      ['select distinct name from t where id = ?', 'select distinct id, name from t where id in (?)'],
      [
        'select l.sku from lines as l join t on t.id = l.t_id where t.id = $1 and l.sku > 3 order by l.sku',
        'select t.id, l.sku from lines as l join t on t.id = l.t_id where t.id = any($1) and l.sku > 3 order by l.sku',
      ],
      [
        'select "t"."id" AS "t_id", "t"."name" AS "t_name" from "t" where "t"."id" = $1',
        'select "t"."id" AS "t_id", "t"."name" AS "t_name" from "t" where "t"."id" = any($1)',
      ],
      [
        'select l.*, t.id from l join t where t.id = $1',
        'select l.*, t.id from l join t where t.id = any($1)',
      ],
      ['select l.* from l join t where t.id = $1', 'select t.id, l.* from l join t where t.id = any($1)'],
      ['select count(*) from t where id = ?', 'select id, count(*) from t where id in (?) group by id'],
      [
        'select kind, sum(n) from t where id = $1 group by kind',
        'select id, kind, sum(n) from t where id = any($1) group by id, kind',
      ],
      [
        'SELECT "public"."t"."id", "public"."t"."name" FROM "public"."t" WHERE ("public"."t"."id" = $1 AND 1=1) LIMIT $2 OFFSET $3',
        'select "public"."t"."id", "public"."t"."name" from "public"."t" WHERE ("public"."t"."id" = any($1) AND 1=1)',
      ],
    ];
    for (const [sql, changed] of pairs) expect(one(sql), sql).to.equal(changed);
  });

  it('is none if it would return something else', () => {
    for (const sql of [
      'select * from t where id > $1',
      'select * from t where id = $1 or shared',
      'select * from t where id = $1 order by at desc limit 1',
      'select * from t where id = $1 limit 5',
      'select * from t where id = $1 limit 1 offset 3',
      'select (select max(at) from u) from t where id = $1',
      'select * from t where id = $1 union select * from u where id = $1',
      'select * from t where id = $1 and id = $2',
      'select count(*) from t where id = $1 order by 1',
      'select * from t where id = $1 for update',
      'delete from t where id = $1',
    ])
      expect(one(sql), sql).to.equal(null);
    expect(one('select * from t where id = $1 limit $2', 5)).to.equal(null);
  });
});
