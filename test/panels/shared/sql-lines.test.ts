import { expect } from 'chai';
import { sqlLines } from '../../../app/panels/shared/sql-lines.ts';
import { sqlTokens } from '../../../app/panels/shared/sql-tokens.ts';
import { cpuMsOf } from '../../support/waiting.ts';

function format(sql: string): string {
  return sqlLines(sql)
    .map((line) => line.map(([, text]) => text).join(''))
    .join('\n');
}

/** What a statement says, however it is laid out. */
function words(sql: string): string[] {
  return sqlTokens(sql)
    .map(([, text]) => text.trim())
    .filter((text) => text !== '');
}

const NASTY = [
  `with recursive tree(id, parent) as (select id, parent from nodes where parent is null union all select n.id, n.parent from nodes n join tree t on t.id = n.parent), counts as materialized (select parent, count(*) filter (where active) as n from tree group by parent) select t.id, row_number() over (partition by t.parent order by c.n desc rows between unbounded preceding and current row) as rank from tree t left outer join lateral (select 1) as l on true where (t.id = $1 or t.parent = any($2::int[]) or exists (select 1 from x where x.id = t.id)) and t.a is distinct from c.b order by 3 desc nulls last limit $3 for update of t skip locked`,
  `select -- the first\n a, /* nested /* comment */ here */ b from t -- end\n where data->>'k' = E'it\\'s' and tags ?| array['a','b'] and doc @> '{"a":1}'::jsonb and $tag$x ' y$tag$ = b`,
  `insert into t (a, b) values ($1, $2), (default, 'x;y') on conflict (a) do update set b = excluded.b where t.a is null returning *`,
  `select case when a > 1 then 'one' else 'two' end, case when status = 'open' and created_at < now() - interval '1 day' then 'stale' when status = 'closed' then 'done' else 'fresh' end as state, left(name, 3), extract(epoch from ts) from t`,
  `select count(*) from a; select ')' from "a)b"`,
  '((((', `'open`, ')))) from', '-- only a comment', 'end case when', '', ' \n ',
]; // prettier-ignore

describe('a statement in lines', () => {
  it('keeps every word, string and comment, and nothing behind a comment joins it', () => {
    for (const sql of NASTY) expect(words(format(sql)), sql).to.deep.equal(words(sql));
  });

  it('is the same when it is formatted again', () => {
    for (const sql of NASTY) expect(format(format(sql)), sql).to.equal(format(sql));
  });

  it('puts clauses, conditions and subqueries on lines of their own', () => {
    expect(
      format(
        'select a from (select b, c from d where e between 1 and 2) x left join y on x.a = y.a where z is not null and q = 3',
      ),
    ).to.equal(
      [
        'select a',
        'from (',
        '  select b, c',
        '  from d',
        '  where e between 1 and 2',
        ') x',
        'left join y on x.a = y.a',
        'where z is not null',
        '  and q = 3',
      ].join('\n'),
    );
  });

  it('breaks a long case and a long group of conditions, and leaves short ones', () => {
    const text = format(NASTY[3] ?? '');
    expect(text).to.contain("select case when a > 1 then 'one' else 'two' end,\n");
    expect(text).to.contain("\n    when status = 'closed' then 'done'\n    else 'fresh'\n  end as state");
    expect(format('select 1 where (a = 1 or b = 2)')).to.equal('select 1\nwhere (a = 1 or b = 2)');
  });

  it('does not take the words of other things for clauses', () => {
    expect(format(`select left(a, 3), extract(epoch from b), "from" from t`)).to.equal(
      `select left(a, 3), extract(epoch from b), "from"\nfrom t`,
    );
    expect(format('delete from t where a is distinct from b')).to.equal(
      'delete from t\nwhere a is distinct from b',
    );
  });

  it('breaks long lists at their commas', () => {
    const columns = Array.from({ length: 30 }, (_, index) => `"column_${index}"`).join(', ');
    const lines = format(`select ${columns} from t`).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(100);
  });

  it('stays linear for texts made to be slow', () => {
    const cpuMs = cpuMsOf(() => {
      for (const sql of ["/*'".repeat(6000), '('.repeat(20_000), 'case '.repeat(4000), ', '.repeat(9000), '/* '.repeat(6000)])
      sqlLines(sql); // prettier-ignore
    });
    expect(cpuMs).to.be.lessThan(1500);
  });
});
