import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';

type Database = ReturnType<typeof keptQueries>;

function found(
  name: string,
  database: Database,
  request = keptRequest(),
  earlier: readonly Database[] = [],
): string[] {
  const beside = {
    siblings: [],
    earlier: earlier.map((before) => ({ head: {}, kept: { database: before } })),
  };
  return sentencesOf(name, { database, request }, { method: 'GET', status: 200 }, beside);
}

describe('findings from conditions and keys', () => {
  it('a first row of a table in place of the one that was wanted', () => {
    const any = keptQueries({ sql: 'select "m"."id" as "m_id" from "member" "m" limit 1' });
    const of = (sent: { id: number }, database = any) =>
      found('any-row', database, keptRequest({ user: { id: 2 }, sent }));
    expect(of({ id: 1 })).to.deep.equal([
      'select … from member has LIMIT 1, no WHERE and no ORDER BY, so it reads any row: the response has another id than the user’s id, as if its criterion was undefined',
    ]);
    expect(of({ id: 2 })).to.deep.equal([]);
    const newest = keptQueries({ sql: 'select * from member order by id desc limit 1' });
    expect(of({ id: 1 }, newest)).to.deep.equal([]);
    const settings = keptQueries(
      { sql: 'select * from settings limit 1' },
      { sql: 'select * from orders where customer_id = $1 limit 1', bindings: { customer_id: 2 } },
    );
    expect(of({ id: 7 }, settings)).to.deep.equal([]);
    const queries = any.queries.map((query) => ({ ...query, dropped: ['id'] }));
    expect(of({ id: 1 }, { ...any, queries }), 'named by condition-dropped').to.deep.equal([]);
    const only = keptQueries({ sql: 'select * from site_settings limit 1' });
    expect(of({ id: 1 }, only), 'a table of one row').to.deep.equal([]);
  });

  it('an OR that leaves out whose rows are wanted', () => {
    const of = (where: string, values: [string, string | number][], rows = 3) =>
      found(
        'or-without-brackets',
        keptQueries({ sql: `select id from notes where ${where}`, bindings: values, rows }),
      );
    const search: [string, string | number][] = [
      ['owner_id', 1],
      ['title', '%a%'],
      ['body', '%a%'],
    ];
    expect(of('"owner_id" = $1 and "title" ilike $2 or "body" ilike $3', search)).to.deep.equal([
      'select … from notes asks for owner_id only on one side of an OR without brackets: rows of any owner_id match by body',
    ]);
    expect(of('((n.owner_id = $1 AND n.title ILIKE $2) OR n.body ILIKE $3)', search)).to.have.length(1);
    for (const where of [
      'owner_id = $1 and (title ilike $2 or body ilike $3)',
      'owner_id = $1 and title ilike $2 or (owner_id = $1 and body ilike $3)',
      "owner_id = $1 and title ilike $2 or visibility = 'public'",
      'owner_id = $1 or title ilike $2',
    ])
      expect(of(where, search), where).to.deep.equal([]);
    expect(of('owner_id = $1 and title ilike $2 or body ilike $3', search, 0)).to.deep.equal([]);
  });

  it('an OR that leaves out an id of the row, with a found row of another one', () => {
    const of = (sql: string, values: [string, string | number][], found: Record<string, Json>[]) =>
      draftsOf('or-without-brackets', {
        database: keptQueries({ sql, system: 'sqlite', bindings: values, rows: found.length, found }),
      }).map(({ severity, sentence }) => `${severity}: ${sentence}`);
    const search = (
      owner: string,
      where = `${owner} = ? and archived = ? and title like ? or remark like ?`,
    ) => `select id, ${owner}, title from documents where ${where} order by title`;
    const values = (id: string | number): [string, string | number][] => [
      ['id', id],
      ['archived', 0],
      ['title', '%lease%'],
      ['remark', '%lease%'],
    ];
    const asks = (owner: string) =>
      `select … from documents asks for ${owner} only on one side of an OR without brackets: rows of any ${owner} match by remark`;
    const clients = [{ client_id: 1 }, { client_id: 2 }];
    const folders = [{ folder_id: 3 }, { folder_id: 9 }];
    expect(of(search('client_id'), values(1), clients)).to.deep.equal([
      `bad: ${asks('client_id')}, such as a found one of client_id 2`,
    ]);
    expect(of(search('client_id'), values(2), [{ id: 7 }]), 'the column was not read').to.deep.equal([
      `bad: ${asks('client_id')}`,
    ]);
    expect(of(search('folder_id'), values('3'), folders)).to.deep.equal([
      `warn: ${asks('folder_id')}, such as a found one of folder_id 9`,
    ]);
    expect(of(search('folder_id'), values(3), [{ folder_id: 3 }]), 'none of another').to.deep.equal([]);
    const [kind, parent] = [['kind_id', 2], ['parent_id', 5]] as [string, number][]; // prettier-ignore
    expect(
      of('select id, kind_id from nodes where kind_id = ? and parent_id = ? or id = ?', [kind!, parent!, ['id', 5]], [{ id: 5, kind_id: 1 }]), // prettier-ignore
      'the parent and its children of a kind',
    ).to.deep.equal([]);
    for (const where of [
      'folder_id = ? and archived = ? and (title like ? or remark like ?)',
      'folder_id <> ? and archived = ? and title like ? or remark like ?',
    ])
      expect(of(search('folder_id', where), values(3), folders), where).to.deep.equal([]);
  });

  it('an OR between two states of which one is anybody’s', () => {
    const of = (where: string, beside = 'tenant_id = 2', values: Record<string, string | number> = {}) =>
      found(
        'or-without-brackets',
        keptQueries(
          {
            sql: `select count(*) from invoices i where ${where}`,
            bindings: { tenant_id: 2, a: 'open', b: 'overdue', ...values },
          },
          { sql: `select * from invoices where ${beside}`, caller: 'src/b.ts:7' },
        ),
      );
    expect(of('i.tenant_id = $1 AND i.status = $2 OR i.status = $3')).to.deep.equal([
      'select … from invoices asks for tenant_id only on one side of an OR without brackets, so it takes rows of any tenant_id by status; select … from invoices (src/b.ts:7) always asks for tenant_id',
    ]);
    expect(of("status = 'overdue' or tenant_id = $1 and status = 'open'")).to.have.length(1);
    for (const where of [
      'i.tenant_id = $1 AND (i.status = $2 OR i.status = $3)',
      'i.tenant_id = $1 AND i.status = $2 OR i.tenant_id = $1 AND i.status = $3',
      "tenant_id = $1 and visibility = 'private' or visibility = 'all'",
      "tenant_id = $1 and status = 'draft' or status = 'published'",
      "tenant_id = $1 and kind = 'custom' or kind = 'builtin'",
      'tenant_id = $1 and level = 1 or level = 2',
      'tenant_id = $1 and status = $2 or number = $3',
    ])
      expect(of(where), where).to.deep.equal([]);
    const open = 'tenant_id = $1 and status = $2 or status = $3';
    expect(of(open, 'id = 7'), 'nobody always asks for the owner').to.deep.equal([]);
    expect(of(open, 'tenant_id = 9'), 'of another owner').to.deep.equal([]);
    expect(of(open, "tenant_id = 2 or status = 'x'"), 'no plain condition').to.deep.equal([]);
  });

  it('a NOT IN that a NULL makes false', () => {
    const query = (list: string, rows: number) =>
      keptQueries({ sql: `select id from categories where id not in (${list}) order by name`, rows });
    const nullable = 'select parent_id from categories';
    expect(found('not-in-null', query(nullable, 0), undefined, [query(nullable, 0)])).to.deep.equal([
      'select … from categories found no row, nor did 1 earlier request: NOT IN is never true if its subselect has NULL, such as the parent_id of a row without a parent',
    ]);
    expect(found('not-in-null', query(nullable, 0))).to.deep.equal([]);
    const other = 'select category_id from products';
    expect(found('not-in-null', query(other, 0))).to.deep.equal([
      'select … from categories found no row: NOT IN is never true if category_id is NULL in one row of products',
    ]);
    expect(found('not-in-null', query(other, 0), undefined, [query(other, 2)])).to.deep.equal([
      'select … from categories found no row, although it found 2 before: NOT IN is never true if category_id is NULL in one row of products',
    ]);
    const severities = [[], [query(other, 2)]].map((earlier) => {
      const beside = { siblings: [], earlier: earlier.map((database) => ({ head: {}, kept: { database } })) };
      const kept = { database: query(other, 0), request: keptRequest() };
      return draftsOf('not-in-null', kept, { method: 'GET', status: 200 }, beside).map(
        ({ severity }) => severity,
      );
    });
    expect(severities).to.deep.equal([['info'], ['warn']]);
    expect(found('not-in-null', query(other, 0), undefined, [query(other, 1)])).to.deep.equal([]);
    expect(found('not-in-null', query(nullable, 0), undefined, [query(nullable, 4)])).to.deep.equal([]);
    for (const list of [
      'select c.parent_id from categories c where c.parent_id is not null',
      'select id from categories',
    ])
      expect(found('not-in-null', query(list, 0), undefined, [query(list, 0)]), list).to.deep.equal([]);
  });

  it('a NOT IN whose NULL another request inserted', () => {
    const asked = (segment: string, rows: number) =>
      keptQueries({
        sql: 'select "id" from "contacts" where "contacts"."id" not in (select "contact_id" from "optouts" where "channel" = $1) and "segment" = $2',
        bindings: { channel: 'mail', segment },
        rows,
      });
    const insert = (bindings: Readonly<Record<string, string | number | null>>, rows = 1): AskedQuery => ({
      sql: 'insert into "optouts" ("channel", "contact_id") values ($1, $2) returning "id"',
      bindings,
      rows,
      caller: 'src/optouts.ts:6',
    });
    const by = (...writes: readonly AskedQuery[]) => {
      const head = { method: 'POST', route: '/optouts', url: '/optouts', token: 'a1b2c3', startedAt: 3 };
      const earlier = [asked('donors', 1), asked('parents', 2)].map((database, at) => ({
        head: { startedAt: 2 - at },
        kept: { database },
      }));
      const siblings = [{ head, kept: { database: keptQueries(...writes) } }];
      const kept = { database: asked('parents', 0), request: keptRequest() };
      return draftsOf('not-in-null', kept, { method: 'GET', status: 200 }, { earlier, siblings }).map(
        ({ severity, sentence }) => `${severity}: ${sentence}`,
      );
    };
    const unknown = 'select … from contacts found no row, although it found 2 before: NOT IN is never true if contact_id is NULL in one row of optouts'; // prettier-ignore
    const listed = insert({ channel: 'mail', contact_id: null });
    expect(by(listed)).to.deep.equal([
      `bad: ${unknown}, as in the row that POST /optouts (a1b2c3) inserted (src/optouts.ts:6)`,
    ]);
    for (const [why, ...writes] of [
      ['the subselect asks for another channel', insert({ channel: 'sms', contact_id: null })],
      ['no NULL', insert({ channel: 'mail', contact_id: 4 })],
      ['nothing inserted', insert({ channel: 'mail', contact_id: null }, 0)],
      ['deleted since', listed, { sql: 'delete from optouts where contact_id is null' }],
    ] as [string, ...AskedQuery[]][])
      expect(by(...writes), why).to.deep.equal([`warn: ${unknown}`]);
  });

  it('rows that are sorted by a constant', () => {
    const request = keptRequest({ query: { sort: 'votes' } });
    const of = (order: string, value?: string | number) =>
      found(
        'sorted-by-constant',
        keptQueries({
          sql: `select id from posts order by ${order} limit 50`,
          system: 'mysql',
          rows: 5,
          bindings: value === undefined ? [] : [['$1', value]],
        }),
        request,
      );
    const sentence =
      'select … from posts sorts or groups its 5 rows by the text of sort, not by a column: it is the same for each of them';
    expect(of('?', 'votes')).to.deep.equal([sentence]);
    expect(of("'votes' desc")).to.deep.equal([sentence]);
    expect(of('?', 2)).to.deep.equal([]);
    expect(of('"votes"')).to.deep.equal([]);
    for (const order of ['votes desc', '2', '`votes`', "field(state, 'open')", "state = 'open'"])
      expect(of(order), order).to.deep.equal([]);
  });

  it('a last day that is left out', () => {
    const days: [string, string][] = [
      ['startsAt', '2026-03-01'],
      ['startsAt', '2026-03-31'],
    ];
    const of = (where: string, bindings: readonly [string, string][] = days, startsAt = '2026-03-02 09:00') =>
      found(
        'last-day-left-out',
        keptQueries({ sql: `select id from visit where ${where}`, bindings }),
        keptRequest({ sent: [{ startsAt }] }),
      );
    const sentence =
      'select … from visit asks for startsAt up to a date without a time, which is the beginning of that day, and the response has it with a time of day: what is later on the last day is not found';
    expect(of('(("startsAt" between $1 and $2))')).to.deep.equal([sentence]);
    expect(of('"startsAt" >= $1 and "startsAt" <= $2')).to.deep.equal([sentence]);
    for (const day of ['2026-03-02', '2026-03-02T00:00:00.000Z'])
      expect(of('"startsAt" between $1 and $2', days, day), day).to.deep.equal([]);
    expect(of('"startsAt" >= $1 and "startsAt" < $2')).to.deep.equal([]);
    const to = (end: string): [string, string][] => [
      ['startsAt', '2026-03-01'],
      ['startsAt', end],
    ];
    for (const end of ['2026-04-01', '2026-03-02', '2026-03-08'])
      expect(of('"startsAt" >= $1 and "startsAt" <= $2', to(end)), end).to.deep.equal([]);
    expect(of('date("startsAt") between $1 and $2')).to.deep.equal([]);
    expect(of('"birthday" between $1 and $2')).to.deep.equal([]);
    const times: [string, string][] = [
      ['startsAt', '2026-03-01T00:00'],
      ['startsAt', '2026-03-31T23:59'],
    ];
    expect(of('"startsAt" between $1 and $2', times)).to.deep.equal([]);
  });

  it('a last day that was bound as its midnight, if rows have times of day', () => {
    const of = (query: Record<string, string>, paid_at: string) =>
      found(
        'last-day-left-out',
        keptQueries({
          sql: 'select r.paid_at as "r_paid_at" from receipts r where r.paid_at between $1 and $2',
          bindings: [
            ['paid_at', '2025-06-27T00:00:00.000+00:00'],
            ['paid_at', '2025-06-30T00:00:00.000+00:00'],
          ],
          found: [{ r_paid_at: paid_at }],
        }),
        keptRequest({ query }),
      );
    const days = { from: '2025-06-27', to: '2025-06-30' };
    expect(of(days, '2025-06-27T10:05:00.000Z')).to.have.length(1);
    expect(of(days, '2025-06-27T00:00:00.000Z')).to.deep.equal([]);
    expect(of({}, '2025-06-27T10:05:00.000Z'), 'a moment that was meant').to.deep.equal([]);
  });

  it('a count of joined rows', () => {
    const join = 'left outer join `Orders` as `o` on `c`.`id` = `o`.`customerId`';
    const of = (counted: string, rows: number, customers: number) =>
      found(
        'joined-rows-counted',
        keptQueries(
          {
            sql: `select count(${counted}) as \`count\` from \`Customers\` as \`c\` ${join};`,
            system: 'mysql',
          },
          {
            sql: `select \`c\`.*, \`o\`.\`id\` from (select * from \`Customers\` limit 0, 2) as \`c\` ${join} order by \`c\`.\`id\`;`,
            system: 'mysql',
            rows,
          },
        ),
        keptRequest({ sent: { total: 7, customers: Array.from({ length: customers }, () => ({})) } }),
      );
    expect(of('`c`.`id`', 6, 2)).to.deep.equal([
      'select … from Customers counts joined rows: the same join gave 6 rows for 2 entries of the response, and the count has no distinct',
    ]);
    expect(of('*', 6, 2)).to.have.length(1);
    expect(of('`o`.`id`', 6, 2), 'orders were to be counted').to.deep.equal([]);
    expect(of('distinct `c`.`id`', 6, 2)).to.deep.equal([]);
    expect(of('`c`.`id`', 2, 2)).to.deep.equal([]);
  });

  it('a LEFT JOIN that its WHERE undoes', () => {
    const of = (where: string, columns = 'e.id, coalesce(sum(t.hours), 0) as hours') =>
      found(
        'left-join-undone',
        keptQueries({
          // A template often begins in a new line.
          sql: `\n  select ${columns} from employees e left join public.time_entries as t on t.employee_id = e.id where ${where} group by e.id`,
        }),
      );
    const sentence =
      'select … from employees has a LEFT JOIN of time_entries, but its WHERE compares approved of it, which is NULL where no row matches: rows of employees without time_entries are left out';
    expect(of('e.team = $1 and t.approved = true')).to.deep.equal([sentence]);
    expect(of('"t"."approved" = true', 'e.id, count(distinct t.id)')).to.deep.equal([sentence]);
    expect(of("t.approved not like 'n%'")).to.deep.equal([sentence]);
    for (const where of [
      'e.team = $1',
      '(t.approved = true or t.id is null)',
      't.id is null',
      't.approved <=> null',
      't.id is not null and t.approved = true',
      'coalesce(t.approved, true) = true',
    ])
      expect(of(where), where).to.deep.equal([]);
    for (const columns of ['e.id, t.hours', "e.id, coalesce(t.note, '') as note", 'e.id, count(*)'])
      expect(of('t.approved = true', columns), columns).to.deep.equal([]);
  });
});

describe('finding parameter-lost', () => {
  const all = 'select id, mobile from singers order by name';
  const asked = (query: Record<string, string>, sql: string, bindings: Record<string, string> = {}) => ({
    head: { method: 'GET', status: 200 },
    kept: { request: keptRequest({ query }), database: keptQueries({ sql, bindings, rows: 3 }) },
  });
  const one = asked({ voice: 'alto' }, 'select id, mobile from singers where voice = $1 order by name', { voice: 'alto' }); // prettier-ignore
  const of = ({ head, kept }: ReturnType<typeof asked>, ...earlier: readonly object[]) =>
    sentencesOf('parameter-lost', kept, head, { earlier });

  it('names a parameter without a condition that it had before', () => {
    expect(of(asked({ voice: 'altoo' }, all), one)).to.deep.equal([
      'select … from singers has no condition on voice, although the request sent 1 value of it; in 1 earlier request it had one',
    ]);
  });

  it('ignores one that asks for everything, had no condition before, or was not sent', () => {
    expect(of(asked({ voice: 'all' }, all), one)).to.deep.equal([]);
    expect(of(asked({ voice: 'altoo' }, all))).to.deep.equal([]);
    expect(of(asked({ voice: 'altoo' }, all), asked({ voice: 'alto' }, all))).to.deep.equal([]);
    expect(of(asked({ sort: 'name' }, all), one)).to.deep.equal([]);
    expect(of(one, one)).to.deep.equal([]);
  });

  it('an overlap that is asked for by the ends only', () => {
    const of = (where: string, rows = 0) =>
      found(
        'enclosed-not-found',
        keptQueries(
          { sql: `select id from bookings where room_id = @room and (${where})`, system: 'sqlite', rows },
          { sql: 'insert into bookings (room_id) values (@room)', system: 'sqlite' },
        ),
      );
    const ends = '(@from >= starts_at AND @from < ends_at) OR (@to > starts_at AND @to <= ends_at)';
    const sentence =
      'select … from bookings asks only whether the new beginning or the new end lies between starts_at and ends_at, and insert into bookings followed: a row that lies wholly within the new one is not found';
    expect(of(ends)).to.deep.equal([sentence]);
    expect(of('@from between starts_at and ends_at or @to between starts_at and ends_at')).to.deep.equal([
      sentence,
    ]);
    expect(of('(starts_at <= $1 and ends_at > $1) or (starts_at < $2 and ends_at >= $2)')).to.deep.equal([
      sentence,
    ]);
    expect(of(ends, 1), 'it was refused').to.deep.equal([]);
    for (const where of [
      'starts_at < @to and ends_at > @from',
      `${ends} OR (starts_at >= @from AND ends_at <= @to)`,
      `(starts_at >= @from AND ends_at <= @to) OR ${ends}`,
    ])
      expect(of(where), where).to.deep.equal([]);
  });
});
