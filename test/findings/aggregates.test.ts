import { expect } from 'chai';
import { type AskedQuery, keptQueries } from '../support/kept-queries.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

function found(name: string, query: AskedQuery): string[] {
  const head = { method: 'GET', status: 200 };
  return sentencesOf(name, { database: keptQueries(query) }, head);
}

describe('findings from sums and counts', () => {
  it('a sum of rows that a join repeats', () => {
    const of = (columns: string, from = '', groups = 'c.id') =>
      found('joined-rows-summed', {
        sql: `SELECT c.id, ${columns}\n FROM customers c JOIN "invoices" AS i ON i.customer_id = c.id ${from || 'LEFT JOIN payments p ON p.invoice_id = i.id'} WHERE i.year = 2026 GROUP BY ${groups} ORDER BY c.name`,
      });
    const both = 'sum(i.total_cents)::int AS invoiced, coalesce(sum(p.amount_cents), 0)::int AS paid';
    expect(of(both)).to.deep.equal([
      'select … from customers sums i.total_cents over the join with payments (p.invoice_id = i.id), so a row of invoices counts once for each row of payments that is joined to it; join payments summed up by invoice_id instead',
    ]);
    expect(of('count(i.id), sum(p.amount_cents)')[0]).to.match(/counts i\.id over the join with payments/);
    const siblings = 'left join notes n on n.customer_id = c.id';
    expect(of('sum(i.total_cents), count(n.id)', siblings)).to.deep.equal([
      'select … from customers sums i.total_cents and counts n.id over the joins of invoices and notes, so a row of each counts once for each row of the other; sum both up by customer_id before you join them',
    ]);
    const limited =
      'and not i.voided left join lines l on l.invoice_id = i.id and l.kind = 1 left join payments p on p.invoice_id = i.id';
    expect(of('count(distinct i.id), sum(l.cents), sum(p.amount_cents)', limited)).to.deep.equal([
      'select … from customers sums l.cents over the join with payments (p.invoice_id = i.id), so a row of lines counts once for each row of payments that is joined to it; join payments summed up by invoice_id instead',
    ]);
    for (const columns of [
      'count(distinct i.id), sum(p.amount_cents)',
      'sum(p.amount_cents)',
      'sum(i.total_cents)',
      'max(i.total_cents), sum(p.amount_cents)',
      'sum(i.total_cents * p.share), sum(p.share)',
      'sum(i.total_cents) / count(p.id), sum(p.amount_cents)',
      'sum(i.total_cents) over (order by i.id), sum(p.amount_cents)',
    ])
      expect(of(columns), columns).to.deep.equal([]);
    expect(of(both, '', 'c.id, p.id'), 'one payment in each group').to.deep.equal([]);
    for (const from of [
      'left join (select invoice_id, sum(amount_cents) as amount_cents from payments group by invoice_id) p on p.invoice_id = i.id',
      "left join payments p on p.invoice_id = i.id and p.kind = 'last'",
      'join payments p on p.id = i.payment_id',
    ])
      expect(of(both, from), from).to.deep.equal([]);
  });

  it('a count whose only row the OFFSET of a page skips', () => {
    const of = (sql: string, rows = 0, bindings: AskedQuery['bindings'] = []) =>
      found('aggregate-skipped', { sql, rows, bindings });
    const count = 'select count(*) as "total" from "scores" where "title" ilike $1';
    const values = [
      ['title', '%a%'],
      ['limit', 1],
      ['offset', 5],
    ] as const;
    expect(of(`${count} limit $2 offset $3`, 0, values)).to.deep.equal([
      'select … from scores returned no row: without GROUP BY, an aggregate is one row, and OFFSET 5 skips it',
    ]);
    expect(of('SELECT sum(pages), max(year) FROM scores LIMIT 5, 5')).to.have.length(1);
    for (const [sql, rows] of [
      [`${count} limit 5 offset 0`, 1],
      ['select count(*) from scores offset 1', 1],
      ['select composer, count(*) from scores group by composer limit 5 offset 5', 0],
      ['select count(*) from scores having count(*) > 3 offset 5', 0],
      ['select id, count(*) over () from scores limit 5 offset 5', 0],
      ['select count(*) over () from scores limit 5 offset 5', 0],
      ['select title from scores limit 5 offset 5', 0],
      ['select count(*) from (select id from scores limit 5 offset 5) page', 1],
    ] as const)
      expect(of(sql, rows), sql).to.deep.equal([]);
  });
});

describe('finding sum-multiplied', () => {
  const sql =
    'SELECT SUM("entry"."minutes") AS "minutes", COUNT("entry"."id") AS "entries", "person"."name" FROM "entries" AS "entry" LEFT OUTER JOIN "people" AS "person" ON "entry"."person_id" = "person"."id" INNER JOIN ( "entry_labels" AS "labels->entry_labels" INNER JOIN "labels" AS "labels" ON "labels"."id" = "labels->entry_labels"."label_id") ON "entry"."id" = "labels->entry_labels"."entry_id" WHERE "entry"."project_id" = 1 GROUP BY "person"."id"';
  const report = (...minutes: readonly string[]) => ({
    database: keptQueries({ sql, rows: minutes.length, found: minutes.map((one) => ({ minutes: one })) }),
  });
  const requestAt = (startedAt: number, method: string, url: string, kept: object) => ({
    head: { token: `a${startedAt}`, method, url, route: url, startedAt },
    kept,
  });
  function of(after: readonly string[], { labels = 2, entries = 1, at = 20, text = sql } = {}): string[] {
    const written = keptQueries(
      {
        sql: 'insert into entries (day, minutes) values ($1, $2)',
        rows: entries,
        bindings: { day: 'x', minutes: 180 },
      },
      { sql: 'insert into entry_labels (entry_id, label_id) values (4, 1), (4, 2)', rows: labels },
    );
    const own = report(...after);
    for (const statement of own.database.statements) statement.sql = text;
    return sentencesOf(
      'sum-multiplied',
      own,
      { startedAt: 30 },
      {
        earlier: [requestAt(10, 'GET', '/billable', report('210'))],
        siblings: [requestAt(at, 'POST', '/entries', { database: written })],
      },
    );
  }

  it('names the request that added the row, and how often the join counts it', () => {
    const sentence =
      'minutes rose by 360 since GET /billable (a10), but POST /entries (a20) added one row with 180, and 2 to entry_labels: the join counts it 2 times';
    expect(of(['210', '360'])).to.deep.equal([sentence]);
    expect(of(['570']), 'in one group').to.deep.equal([sentence]);
  });

  it('finds nothing without the proof', () => {
    expect(of(['210', '180']), 'counted once').to.deep.equal([]);
    expect(of(['210', '540']), 'not as often as rows').to.deep.equal([]);
    expect(of(['210', '180'], { labels: 1 })).to.deep.equal([]);
    expect(of(['210', '360'], { entries: 2 }), 'two rows').to.deep.equal([]);
    expect(of(['210', '360'], { at: 5 }), 'before both').to.deep.equal([]);
    expect(of(['210', '360'], { text: sql.replace('= 1', '= 2') }), 'another statement').to.deep.equal([]);
  });
});
