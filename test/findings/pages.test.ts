import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

function found(name: string, queries: readonly AskedQuery[], sent: object, earlier: readonly object[] = []) {
  const kept = { database: keptQueries(...queries), request: keptRequest({ sent: sent as never }) };
  const beside = {
    earlier: earlier.map((before) => ({
      head: { token: '59aac1', method: 'GET', url: '/tickets', route: '/tickets' },
      kept: before,
    })),
  };
  return draftsOf(name, kept, { method: 'GET', status: 200 }, beside).map(
    ({ sentence, severity }) => `${severity}: ${sentence}`,
  );
}

describe('findings from pages of a list', () => {
  it('a count that lacks a condition of the list', () => {
    const page = {
      sql: 'select "id" from "vehicles" where "tenant_id" = $1 order by "plate" limit $2',
      bindings: { tenant_id: 1, limit: 5 },
      rows: 5,
    };
    const of = (where: string, sent: object, n = 18) =>
      found(
        'count-without-condition',
        [page, { sql: `select count("id") from "vehicles"${where}`, found: [{ count: String(n) }] }],
        sent,
      );
    const sentence =
      'bad: The count of vehicles (18) lacks tenant_id = 1, by which select … from vehicles reads the page: it counts rows of any tenant_id';
    expect(of('', { total: 18 })).to.deep.equal([sentence]);
    expect(of('', { pages: 4 })).to.deep.equal([sentence]);
    expect(of('', { items: [] }), 'the number is not sent').to.deep.equal([]);
    expect(of(' where tenant_id = $1', { total: 18 })).to.deep.equal([]);
    expect(of(' where broken', { total: 18 }), 'counts something else').to.have.length(1);
    expect(of(' where broken = true', { total: 18 }), 'counts something else').to.deep.equal([]);
    expect(of('', { total: 5 }, 5), 'no other rows').to.deep.equal([]);
  });

  it('a LIMIT that takes joined rows', () => {
    const join =
      'left outer join (article_tags as `tags->t` inner join tags as tags on tags.id = `tags->t`.tag_id) on article.id = `tags->t`.article_id';
    const of = ({
      ids = [9, 9, 8, 7],
      columns = 'article.id, article.title, tags.id as `tags.id`',
      limit = 4,
      sent = null,
      counted = 'distinct(article.id)',
    }: {
      ids?: number[];
      columns?: string;
      limit?: number;
      sent?: object | null;
      counted?: string;
    }) =>
      found(
        'limit-of-joined',
        [
          {
            sql: `select count(${counted}) as count from articles as article ${join} where article.hidden = false`,
            system: 'mysql',
          },
          {
            sql: `select ${columns} from articles as article ${join} where article.hidden = false order by title limit 0, ${limit}`,
            system: 'mysql',
            rows: ids.length,
            found: ids.map((id) => ({
              id,
              title: 't',
              'tags.id': { as: true, name: 'tags . id', value: 3 },
            })),
          },
        ],
        sent ?? {},
      );
    const sentence = (seen: string) =>
      `warn: select … from articles has LIMIT 4, but ${seen}, and rows of articles repeat in the page: the limit counts the joined rows`;
    expect(of({})).to.deep.equal([sentence('the count has each article.id once')]);
    const sent = { total: 21, articles: [{ id: 9 }, { id: 8 }, { id: 7 }] };
    expect(of({ sent, counted: '*' })).to.deep.equal([sentence('the response has 3 entries')]);
    expect(of({ counted: '*' }), 'the joined rows may be the entries').to.deep.equal([]);
    const lines = [{ id: 9 }, { id: 9 }, { id: 8 }, { id: 7 }];
    expect(of({ sent: { lines }, counted: '*' }), 'each row is an entry').to.deep.equal([]);
    expect(of({ ids: [9, 8, 7, 6] }), 'no row repeats').to.deep.equal([]);
    expect(of({ limit: 10 }), 'all rows there are').to.deep.equal([]);
    expect(of({ columns: 'distinct article.id' })).to.deep.equal([]);
    expect(of({ columns: 'article.title, tags.id' }), 'no key').to.deep.equal([]);
  });

  it('a page that goes on without the key', () => {
    const at = '2025-02-05T08:30:00.000';
    const sql = (where: string, order = 'created_at DESC, id DESC') =>
      `SELECT id, created_at FROM activities WHERE project_id = $1 AND ${where} ORDER BY ${order} LIMIT $3`;
    const usual = '($2::timestamptz IS NULL OR created_at < $2)';
    const of = (where: string, ids: number[], order?: string, time = at) => {
      const text = sql(where, order);
      const bindings = { project_id: 1, created_at: `${at}+00:00`, limit: 3 };
      const rows = [4, 5].map((id) => ({ id, created_at: `${time}Z` }));
      const before = {
        database: keptQueries({ sql: text, found: rows }),
        request: keptRequest({ sent: ids.map((id) => ({ id })) }),
      };
      return found('cursor-without-key', [{ sql: text, bindings }], [{ id: 3 }], [before]);
    };
    const sentence =
      'select … from activities is sorted by created_at, id, but goes on after the last row by created_at < … alone: other rows of the same created_at are skipped';
    expect(of(usual, [5])).to.deep.equal([
      `bad: ${sentence}, such as id 4, which the page before (59aac1) read and did not send either`,
    ]);
    expect(of(usual, [4, 5])).to.deep.equal([`warn: ${sentence}`]);
    expect(of(usual, [5], undefined, '2025-02-06T08:30:00.000'), 'no page ended so').to.deep.equal([]);
    for (const where of [
      '(created_at, id) < ($2, $4)',
      '(created_at < $2 OR (created_at = $2 AND id < $4))',
      'created_at > $2',
    ])
      expect(of(where, [5]), where).to.deep.equal([]);
    expect(of(usual, [5], 'created_at DESC'), 'not sorted by the key').to.deep.equal([]);
  });

  it('a page that goes on after a moment that lost its microseconds', () => {
    const at = (ms: number): string => `2026-11-19T23:41:07.${ms}Z`;
    const noted = (id: number, ms: number, kind = 'gust') => ({ id, noted_at: at(ms), kind });
    const columns = 'select id, noted_at, kind from entry where kind = $1';
    const order = 'order by noted_at desc, id desc limit $4';
    const page = (from: number, rows: ReturnType<typeof noted>[]) => ({
      sql: `${columns} and (noted_at, id) < ($2, $3) ${order}`,
      bindings: { kind: 'gust', noted_at: at(from), id: 41, limit: 3 },
      found: rows,
    });
    const of = (own: AskedQuery, seen: ReturnType<typeof noted>, ids = [43, 42, 41], first = noted(43, 300)) =>
      found('cursor-rounded', [own], [{ id: 37 }], [
        {
          database: keptQueries({ sql: `${columns} ${order}`, found: [first, noted(42, 246)] }),
          request: keptRequest({ sent: ids.map((id) => ({ id })) }),
        },
        {
          database: keptQueries({ sql: 'select * from entry where id = $1', found: [seen] }),
          request: keptRequest({ sent: seen }),
        },
      ]); // prettier-ignore
    const next = page(246, [noted(37, 245)]);
    expect(of(next, noted(40, 246))).to.deep.equal([
      'bad: select … from entry goes on after noted_at 2026-11-19T23:41:07.246Z, which has milliseconds, and skips id 40 of the same millisecond, which GET /tickets (59aac1) read: the column has more digits',
    ]);
    expect(of(next, noted(40, 245)), 'another millisecond').to.deep.equal([]);
    expect(of(next, noted(40, 246, 'note')), 'of another list').to.deep.equal([]);
    expect(of(next, noted(42, 246)), 'on the page before').to.deep.equal([]);
    expect(of(next, noted(40, 246), [41], noted(42, 246)), 'perhaps on an earlier page').to.deep.equal([]);
    expect(of(next, noted(40, 246), [43, 42]), 'no page ended so').to.deep.equal([]);
    expect(of(page(246, [noted(39, 246)]), noted(40, 246)), 'the page has some').to.deep.equal([]);
    const exact = { ...next, bindings: { ...next.bindings, noted_at: '2026-11-19T23:41:07.246123Z' } };
    expect(of(exact, noted(40, 246)), 'all digits').to.deep.equal([]);
  });

  it('pages whose order is not defined', () => {
    const page = (
      offset: number,
      priorities: number[],
      { order = 'priority desc', system = 'postgresql' } = {},
    ) => ({
      sql: `select * from tickets where status = $1 order by ${order} limit $2 offset $3`,
      system,
      bindings: { status: 'open', $2: priorities.length, $3: offset },
      rows: priorities.length,
      found: priorities.map((priority, at) => ({ id: offset + at, priority })),
    });
    const of = (own: AskedQuery, before?: AskedQuery, ids: number[] = []) =>
      found('page-order-ties', [own], { tickets: [] }, before === undefined ? [] : [
        { database: keptQueries(before), request: keptRequest({ sent: ids.map((id) => ({ id })) }) },
      ]); // prettier-ignore
    const what = (rows: number, value = '2') =>
      `select … from tickets is sorted by priority alone, in which ${rows} of the rows are equal (${value})`;
    const ties = page(5, [3, 2, 2, 2, 1]);
    expect(of(ties, page(0, [3, 3, 3, 3, 3]), [1, 2, 6, 7, 3])).to.deep.equal([
      `bad: ${what(3)}: rows of this page were also on that of GET /tickets (59aac1), with id 6 and 7`,
    ]);
    expect(of(page(5, [2, 2, 2, 2, 1]), page(0, [3, 3, 3, 3, 3]), [5, 6, 7, 8, 0])[0]).to.match(
      /with id 5, 6, 7 and others$/,
    );
    expect(of(ties, page(0, [3, 3, 3, 3, 3]), [1, 2, 3, 4, 0]), 'no row twice').to.deep.equal([]);
    expect(of(ties, page(5, [3, 3, 3, 3, 3]), [5, 6, 7, 8, 9]), 'the same page').to.deep.equal([]);
    expect(of(ties, page(2, [3, 3, 3, 3, 3]), [2, 3, 4, 6, 7]), 'pages that overlap').to.deep.equal([]);
    expect(of(ties, page(0, [3, 3, 3, 3, 3]), [0, 1, 2, 3, 5]), 'a row that has its place').to.deep.equal([]);
    expect(of(page(5, [5, 4, 3, 2, 1]), page(0, [9, 8, 7, 6, 5]), [5, 6, 1, 2, 3]), 'no ties').to.deep.equal(
      [],
    );
    const earlier = [page(5, [3, 3, 3, 3, 2]), page(0, [3, 3, 3, 3, 3])].map((one, at) => ({
      database: keptQueries(one),
      request: keptRequest({ sent: (at === 0 ? [4, 6, 7, 8, 9] : [0, 1, 2, 3, 4]).map((id) => ({ id, priority: 3 })) }), // prettier-ignore
    }));
    expect(found('page-order-ties', [page(10, [2, 2, 1, 1, 0])], { tickets: [] }, earlier)[0]).to.match(
      /: rows of the page of GET \/tickets \(59aac\d\) were also on that of GET \/tickets \(59aac\d\), with id 4$/,
    );
    const whole = page(5, [2, 2, 2, 2, 2]);
    expect(of(whole)).to.deep.equal([
      `warn: ${what(5)}: they may be on another page as well, and others on none`,
    ]);
    expect(of({ ...whole, rows: 4 }), 'the last page').to.deep.equal([]);
    expect(of(page(5, [2, 2, 2, 2, 2], { order: 'priority desc, id' }))).to.deep.equal([]);
    expect(of(page(5, [2, 2, 2, 2, 2], { system: 'sqlite' })), 'in the order of the table').to.deep.equal([]);
  });
});
