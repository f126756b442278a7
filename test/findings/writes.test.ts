import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, type AskedRequest, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

function found(
  name: string,
  queries: readonly AskedQuery[],
  {
    status = 200,
    headersAtMs = 100,
    method = 'PATCH',
    route = '/',
    ...asked
  }: AskedRequest & { status?: number; headersAtMs?: number; method?: string; route?: string } = {},
): string[] {
  const request = keptRequest(asked);
  const kept = {
    request: { ...request, response: { ...request.response, headersAtMs } },
    database: keptQueries(...queries),
  };
  return sentencesOf(name, kept, { method, route, url: '/', status });
}

describe('findings from what was written', () => {
  const take: AskedQuery = {
    sql: 'update accounts set miles = miles - $1 where number = $2',
    bindings: { miles: 15_000, number: 'AM-1' },
  };
  const missed: AskedQuery = { sql: 'update accounts set miles = miles + $1 where number = $2', rows: 0 };
  const refused = (...queries: readonly AskedQuery[]) =>
    found('refused-but-written', queries, { status: 404 });

  it('a change that a refused request left', () => {
    expect(refused(take, missed)).to.deep.equal([
      'update accounts changed 1 row of accounts before the request was refused with 404, and nothing took that back',
    ]);
    expect(refused(missed, take), 'nothing was missing afterwards').to.deep.equal([]);
    expect(found('refused-but-written', [take, missed])).to.deep.equal([]);
    expect(found('refused-but-written', [take, missed], { status: 401 })).to.deep.equal([]);
    for (const sql of [
      'update login_attempts set count = count + 1',
      'delete from password_tokens where expires_at < now()',
      'update users set failed_logins = failed_logins + 1',
    ])
      expect(refused({ sql }, missed), sql).to.deep.equal([]);
  });

  it('an upsert that keeps the values of the row that is there', () => {
    const kept = (sets: string, end = '') =>
      found('upsert-keeps', [
        { sql: `insert into "prices" ("sku", "title", "cents") values ($1, $2, $3) on ${sets}${end}` },
      ]);
    const sentence =
      'insert into prices sets title and cents of a row that is there to their own values, so it keeps the old ones';
    const conflict = 'conflict ("prices"."sku") do update set';
    for (const sets of [
      `${conflict} "title" = "prices"."title", "cents" = "prices"."cents"`,
      `${conflict} title = title, cents = prices.cents, updated_at = $4`,
      'duplicate key update title = title, cents = cents',
    ]) {
      expect(kept(sets), sets).to.deep.equal([sentence]);
      expect(kept(sets, ' returning *'), sets).to.deep.equal([sentence]);
    }
    for (const sets of [
      `${conflict} "title" = excluded."title", "cents" = excluded."cents"`,
      `${conflict} title = excluded.title, cents = prices.cents`,
      `${conflict} created_at = prices.created_at, created_by = prices.created_by`,
      'duplicate key update title = values(title), cents = values(cents)',
      'duplicate key update sku = sku',
      'conflict do nothing',
    ])
      expect(kept(sets), sets).to.deep.equal([]);
  });

  it('a row that REPLACE deleted', () => {
    const sql = 'REPLACE INTO hives (id, yard) VALUES (?, ?)';
    const replaced = (query: Partial<AskedQuery>) =>
      found('row-replaced', [{ sql, system: 'mysql', ...query }]);
    expect(replaced({ rows: 2 })).to.deep.equal([
      'replace into hives deleted the row that was there, and inserted another: columns that it does not name have their default, and rows that refer to the old one may be gone (ON DELETE CASCADE)',
    ]);
    const read = (row: Readonly<Record<string, Json>>): AskedQuery => ({
      sql: 'SELECT * FROM hives WHERE id = ?',
      system: 'mysql',
      bindings: { id: 7 },
      found: [row],
    });
    const [before, after] = [
      { id: 7, yard: 'A', keeper: 'Ann', frames: 8, updated_at: 1 },
      { id: 7, yard: 'B', keeper: null, frames: 0, updated_at: 2 },
    ].map(read);
    const around = (...queries: readonly (AskedQuery | undefined)[]) =>
      found(
        'row-replaced',
        queries.filter((query) => query !== undefined),
      );
    const replace = { sql, system: 'mysql', rows: 2 };
    expect(around(before, replace, after)).to.deep.equal([
      'replace into hives deleted the row that was there, and inserted another: keeper "Ann" → null and frames 8 → 0, which it does not name',
    ]);
    expect(around(before, replace, before)[0], 'nothing is lost').to.contain('may be gone');
    const reset = { sql: 'UPDATE hives SET frames = 0, keeper = NULL WHERE id = 7', system: 'mysql' };
    expect(around(before, replace, reset, after)[0], 'another write names them').to.contain('may be gone');
    expect(replaced({ rows: 1 }), 'there was none').to.deep.equal([]);
    expect(replaced({ rows: 2, system: 'sqlite' }), 'counts otherwise').to.deep.equal([]);
    const again: AskedQuery = { sql: 'INSERT OR REPLACE INTO hives (id, yard) VALUES (?, ?)', system: 'sqlite', bindings: { id: 7, yard: 'B' }, alsoChanged: 2 }; // prettier-ignore
    expect(around(before, again)).to.deep.equal([
      'insert into hives deleted the row that this request had read, and inserted another: 2 further rows changed with it, by ON DELETE of a foreign key or by a trigger',
    ]);
    expect(around(again), 'a trigger of a new row').to.deep.equal([]);
    expect(around(before, { ...again, bindings: { id: 8 } }), 'another row').to.deep.equal([]);
    expect(replaced({ rows: 2, sql: `${sql}, (?, ?)` }), 'two rows').to.deep.equal([]);
  });

  it('a number that two lines changed by the same value', () => {
    const credit = (caller: string, bindings: Record<string, number> = {}): AskedQuery => ({
      sql: 'UPDATE "customers" SET "points"="points"+ $1 WHERE "id" = $2',
      caller,
      bindings: { points: 126, id: 1, ...bindings },
    });
    const twice = (...queries: readonly AskedQuery[]) => found('step-twice', queries);
    expect(twice(credit('src/orders.js:6'), credit('src/orders.js:8'))).to.deep.equal([
      'update customers changed points of the same row by the same value as src/orders.js:6 had done 0.0 ms before',
    ]);
    expect(twice(credit('src/orders.js:6'), credit('src/orders.js:6')), 'in a loop').to.deep.equal([]);
    expect(twice(credit('src/orders.js:6'), credit('src/orders.js:8', { id: 2 }))).to.deep.equal([]);
    expect(twice(credit('src/orders.js:6'), credit('src/orders.js:8', { points: 5 }))).to.deep.equal([]);
    const set = { sql: 'update orders set number = $1 where id = $2', bindings: { number: 'a-1', id: 1 } };
    expect(twice({ ...set, caller: 'a.js:1' }, { ...set, caller: 'a.js:2' }), 'not counted').to.deep.equal(
      [],
    );
  });

  it('no change that was rolled back', () => {
    const database = keptQueries({ sql: 'begin' }, take, missed, { sql: 'rollback' });
    const queries = database.queries.map((query) => ({ ...query, transaction: 'T1', connection: 'pg1' }));
    const kept = { request: keptRequest(), database: { ...database, queries } };
    expect(draftsOf('refused-but-written', kept, { method: 'POST', status: 404 })).to.deep.equal([]);
  });

  it('a change after the refusal', () => {
    const remove: AskedQuery = { sql: 'delete from offers where id = $1', rows: null };
    const of = (headersAtMs: number) =>
      found('refused-but-written', [{ sql: 'select * from offers' }, remove], { status: 403, headersAtMs });
    expect(of(0.5)).to.deep.equal([
      'delete from offers was sent after the 403: the code goes on behind the refusal',
    ]);
    expect(of(5)).to.deep.equal([]);
  });

  it('fields of a PATCH that nobody sent', () => {
    const row = {
      Member_phone: '+46 1',
      Member_contact: 'Eva',
      Member_left_at: '2026-01-01',
      Member_boat: null,
    };
    const of = (sets: string, body: Record<string, string> = { email: 'a@b.example' }) =>
      found(
        'fields-emptied',
        [
          { sql: 'select * from members', found: [row] },
          { sql: `update members set email = $1, ${sets} where id = 2`, bindings: { email: 'a@b.example' } },
        ],
        { body },
      );
    expect(of('phone = null, contact = null')).to.deep.equal([
      'update members set phone and contact to NULL, which had values and were not sent: a PATCH keeps what it does not name',
    ]);
    expect(of('phone = null'), 'one may be meant').to.deep.equal([]);
    expect(of('phone = null, left_at = null, boat = null')).to.deep.equal([]);
    expect(
      of('phone = null, contact = null', { email: 'a@b.example', phone: '', contact: '' }),
    ).to.deep.equal([]);
  });

  it('fields of a PATCH that got defaults', () => {
    const row = { id: 2, phone: '1', level: 'skipper', news: 0, crew: 'hidden', status: 'new' };
    const of = (sets: Readonly<Record<string, Json>>, body: Json = { phone: '3' }, method = 'PATCH') => {
      const sql = `update members set ${Object.keys(sets).map((name, at) => `${name} = $${at + 1}`).join(', ')} where id = 2`; // prettier-ignore
      const queries = [
        { sql: 'select * from members', found: [row] },
        { sql, bindings: sets },
      ];
      return found('fields-emptied', queries, { body, method });
    };
    expect(of({ phone: '3', level: 'beginner', news: 1, crew: 'visible' })).to.deep.equal([
      'update members changed level "skipper" → "beginner", news 0 → 1 and crew "hidden" → "visible": the body does not name them, and the values come from nothing that this request received or read, so they may be defaults',
    ]);
    const silent: [string, ...Parameters<typeof of>][] = [
      ['all as they were', { phone: '3', level: 'skipper', news: 0, crew: 'hidden' }],
      ['one alone', { phone: '3', level: 'beginner' }],
      ['a state, with its moment', { phone: '3', status: 'closed', closed_at: 'now', level: 'beginner' }],
      ['flags alone', { phone: '3', news: 1 }],
      ['named', { phone: '3', level: 'a', crew: 'b' }, { phone: '3', level: 'a', crew: 'b' }],
      ['made of what was sent', { phone: '3', level: 'ann-lee', crew: 'Ann' }, { name: 'Ann Lee' }],
      ['replaced', { phone: '3', level: 'beginner', crew: 'visible' }, { phone: '3' }, 'PUT'],
    ];
    for (const [what, ...given] of silent) expect(of(...given), what).to.deep.equal([]);
  });

  it('ids that were counted from an insert that skipped rows', () => {
    const insert = (rows: number, bindings: Readonly<Record<string, Json>> = {}): AskedQuery => ({
      sql: 'insert ignore into contacts (email, name) values ?',
      system: 'mysql',
      bindings: { 'email, name': [['a@b.example', 'A'], ['c@d.example', 'C']], ...bindings },
      rows,
    }); // prettier-ignore
    const label = (...ids: number[]): AskedQuery => ({
      sql: 'insert into labels (contact_id) select id from contacts where id in (?)',
      system: 'mysql',
      bindings: { id: ids },
    });
    expect(found('ids-counted', [insert(0), label(0, 1)])).to.deep.equal([
      'insert into labels has the ids 0 and 1, which this request neither received nor read: they seem to be counted from the insertId of insert into contacts, which added 0 of 2 rows',
    ]);
    expect(found('ids-counted', [insert(1), label(7, 8)])).to.have.length(1);
    const read: AskedQuery = {
      sql: 'select id from contacts where email in (?)',
      found: [{ id: 3 }, { id: 4 }],
    };
    const near: [string, readonly AskedQuery[], AskedRequest?][] = [
      ['all were new', [insert(2), label(7, 8)]],
      ['read afterwards', [insert(1), read, label(3, 4)]],
      ['received', [insert(1), label(7, 8)], { query: { ids: '7,8', first: 7 } }],
      ['chosen before', [insert(1, { id: [7, 8] }), label(7, 8)]],
      ['no row is skipped', [{ ...insert(1), sql: 'insert into contacts (email, name) values ?' }, label(7, 8)]],
      ['others', [insert(0), label(3, 9)]],
    ]; // prettier-ignore
    for (const [what, queries, asked] of near)
      expect(found('ids-counted', queries, asked), what).to.deep.equal([]);
  });

  it('rows of a relation that were replaced by the one to be added', () => {
    const save = 'Plant.save';
    const read: AskedQuery = { sql: 'SELECT t.plantId, t.tagId FROM tags g INNER JOIN plant_tags t ON t.plantId = ?', rows: 2, found: [{ tagId: 1 }, { tagId: 2 }], above: save };
    const insert: AskedQuery = { sql: 'INSERT INTO plant_tags(plantId, tagId) VALUES (?, ?)', above: save };
    const remove = (rows = 2): AskedQuery => ({ sql: 'DELETE FROM plant_tags WHERE plantId = ? AND tagId in (?, ?)', rows, above: save });
    const post = { method: 'POST', route: '/plants/:id/tags', body: { name: 'shade' } };
    expect(found('relation-replaced', [read, insert, remove()], post)).to.deep.equal([
      'Plant.save deleted the 2 rows of plant_tags that it had read, and added 1: it makes the relation exactly what it was given, and this request was to add to it',
    ]);
    const near: [string, readonly AskedQuery[], object][] = [
      ['a list was received', [read, insert, remove()], { ...post, body: { names: ['shade', 'sun'] } }],
      ['a PUT replaces', [read, insert, remove()], { ...post, method: 'PUT' }],
      ['one at a time', [read, insert, remove()], { ...post, route: '/plants/:id/tag' }],
      ['only added', [read, insert], post],
      ['only deleted', [read, remove()], post],
      ['another call deletes', [read, insert, { ...remove(), above: 'Tag.delete' }], post],
      ['one of them', [read, insert, remove(1)], post],
      ['another relation', [read, insert, remove()], { ...post, route: '/plants/:id/photos' }],
    ];
    for (const [what, queries, asked] of near)
      expect(found('relation-replaced', queries, asked), what).to.deep.equal([]);
  }); // prettier-ignore

  describe('a number of rows that were not all inserted', () => {
    const batch = (size: number, table = 'readings', rest = ''): AskedQuery => ({
      sql: `insert into ${table} (level) values ${Array.from({ length: size }, (_, at) => `($${at + 1})`).join(', ')}${rest}`,
      bindings: Array.from({ length: size }, (_, at) => ['level', at] as const),
      rows: size,
    });
    const readings = Array.from({ length: 24 }, (_, at) => ({ level: at }));
    const of = (sent: Json, queries: readonly AskedQuery[], body: Json = readings, status = 201): string[] =>
      found('rows-not-inserted', queries, { method: 'POST', status, body, sent });

    it('is named, with the batch that is missing', () => {
      expect(of({ received: 24, imported: 23 }, [batch(10), batch(10)])).to.deep.equal([
        'imported 23 was sent, but 20 rows were inserted into readings (2 × 10): a last batch of 3 is missing',
      ]);
      expect(of({ created: 24 }, [batch(10), batch(4)])).to.deep.equal([
        'created 24 was sent, but 14 rows were inserted into readings',
      ]);
      expect(of({ received: 24, imported: 23 }, [batch(20), batch(1, 'audit_log')], null)).to.have.length(1);
      const upsert = ' on conflict (level) do update set level = excluded.level';
      expect(
        of({ imported: 23 }, [batch(10, 'readings', upsert), batch(10, 'readings', upsert)]),
      ).to.have.length(1);
    });

    it('is silent if the rows are as many, or the number may count something else', () => {
      const some = [batch(10), batch(10)];
      expect(of({ imported: 20 }, some)).to.deep.equal([]);
      expect(of({ imported: 23 }, [...some, batch(3)])).to.deep.equal([]);
      expect(
        of({ imported: 23 }, [{ ...batch(23, 'readings', ' on conflict do nothing'), rows: 20 }]),
      ).to.deep.equal([]);
      expect(of({ imported: 23 }, [...some, batch(3, 'alarms')]), 'two tables').to.deep.equal([]);
      expect(of({ saved: 23 }, some, { items: [1, 2] }), 'more than came').to.deep.equal([]);
      expect(
        of({ stored: 24 }, [...some, { sql: 'select count(*) as n from readings', found: [{ n: 24 }] }]),
      ).to.deep.equal([]);
      expect(
        of({ saved: 23 }, [
          ...some,
          { sql: 'update readings set level = $1 where id = $2', bindings: { level: 1, id: 2 }, rows: 3 },
        ]),
      ).to.deep.equal([]);
      expect(of({ batches: [{ imported: 23 }] }, some), 'in a list').to.deep.equal([]);
      expect(of({ imported: 23 }, some, readings, 422)).to.deep.equal([]);
      expect(
        of({ imported: 23 }, [
          { sql: 'insert into readings select * from unnest($1::int[]) on conflict do nothing', rows: 20 },
        ]),
      ).to.deep.equal([]);
    });
  });
});
