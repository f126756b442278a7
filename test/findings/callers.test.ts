import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { draftsOf, ruleOf, sentencesOf } from '../support/find-by-rule.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';

const customer = (value: string) => ({ headers: [{ name: 'X-Customer', value }] });
const user = (id: number) => ({ headers: [], sessionAndUser: { user: { id } } });

interface Past {
  key?: string;
  sql?: string;
  params?: Record<string, string>;
  url?: string;
}

function kept(who: object, key: string, command: 'GET' | 'SET', params = {}) {
  const isRead = command === 'GET';
  return {
    request: { ...keptRequest({ params }), ...who },
    cache: {
      items: [
        { command, key, args: [], hits: isRead ? 1 : null, asked: isRead ? 1 : 0, startMs: 1, durationMs: 1, error: null, caller: 'lib/cache.js:3' },
      ], // prettier-ignore
    },
  };
}

const OWN = 'select * from Customers where id = $1';

/** A reader finds what customer or user 1 stored. */
function found(
  reader: object,
  { key = 'dashboard:today', sql = OWN, params = {}, url = '/dashboard' }: Past = {},
  owner: object = customer('1'),
) {
  const head = { token: 'aaaaaa', url, startedAt: 0 };
  const before = { ...kept(owner, key, 'SET', params), database: keptQueries({ sql, bindings: { $1: 1 } }) };
  const own = kept(reader, key, 'GET', params);
  const later = { ...head, startedAt: 100 };
  expect(ruleOf('cache-of-another-user').compares?.(own, later as never)).to.equal(true);
  return draftsOf('cache-of-another-user', own, later, { earlier: [{ head, kept: before }] });
}

describe('finding cache-of-another-user', () => {
  it('names a value that was stored for another customer, or another user', () => {
    expect(found(customer('2'))[0]).to.include({
      sentence:
        'GET found a value that was stored for another x-customer (aaaaaa): its statement asks for that one, and the key dashboard:today names none',
      place: 'lib/cache.js:3',
      anchor: 'k1',
    });
    expect(found(customer('2'), { sql: 'select * from orders where customer_id = $1' })).to.have.length(1);
    const [ofUser] = found(user(2), { sql: 'select * from orders where user_id = $1' }, user(1));
    expect(ofUser?.sentence).to.contain('stored for another user (aaaaaa)');
  });

  it('ignores what is the caller’s own, or anybody’s', () => {
    expect(found(customer('1')), 'the same customer').to.deep.equal([]);
    expect(found(customer('2'), { key: 'dashboard:1' }), 'a key with the customer').to.deep.equal([]);
    expect(found(customer('2'), { sql: 'select * from products where id = $1' }), 'of nobody').to.deep.equal(
      [],
    );
    expect(found(customer('2'), { params: { id: '1' } }), 'named by the address').to.deep.equal([]);
    expect(found(user(2), { sql: 'select * from products where id = $1' }, user(1))).to.deep.equal([]);
    expect(found(user(2), { key: 'orders:1' }, user(1)), 'a key with the user').to.deep.equal([]);
  });
});

const PATIENTS = 'select * from patient where clinic = $1 and archived = false';

/** A request of this member that asked for the patients of a clinic. */
function listed(member: string, clinic: string, token: string, query: Record<string, string> = {}) {
  return {
    head: { token, url: '/patients', status: 200 },
    kept: {
      request: { ...keptRequest({ query }), headers: [{ name: 'x-member', value: member }] },
      database: keptQueries({ sql: PATIENTS, bindings: { clinic }, caller: 'src/patients.ts:24' }),
    },
  };
}

describe('finding value-of-another-request', () => {
  const rule = ruleOf('value-of-another-request');
  const mia = listed('mia', 'north', 'aaaaaa');
  const sam = listed('sam', 'south', 'bbbbbb');
  const running = listed('sam', 'south', 'cccccc');
  const of = (
    { head, kept: own }: Pick<ReturnType<typeof listed>, 'head' | 'kept'>,
    overlapping: readonly object[] = [running],
    earlier: readonly object[] = [mia, sam],
  ) => draftsOf('value-of-another-request', own, head, { earlier, overlapping });

  it('names a value that belongs to the request that ran at the same time', () => {
    expect(rule.overlaps?.(mia.kept, {} as never)).to.equal(true);
    expect(of(listed('mia', 'south', 'dddddd'))).to.deep.equal([
      {
        broke: 'unseen',
        severity: 'bad',
        sentence:
          'select … from patient was given the clinic of another x-member, whose request ran at the same time (cccccc), and not that of 1 earlier request of this one: something that both requests share held it',
        panel: 'database',
        anchor: 'q1',
        place: 'src/patients.ts:24',
      },
    ]);
  });

  it('names a value that lines returned to the other request, and another one to this', () => {
    const session: AskedQuery = {
      sql: 'select patient_id from sessions where token = $1',
      caller: 'src/sessions.ts:6',
    };
    const asked = (id: number, patient: number, token: string, more: AskedQuery[] = []) => ({
      head: { token, url: '/my/overview', status: 200 },
      kept: {
        request: { ...keptRequest(), headers: [] },
        database: keptQueries({ ...session, found: [{ patient_id: id }] }, ...more, {
          sql: 'select * from patients where id = $1',
          bindings: { id: patient },
          found: [{ name: 'Irma' }],
          caller: 'src/patients.ts:5',
        }),
      },
    });
    const other = asked(2, 2, 'cccccc');
    const irma = asked(1, 2, 'dddddd');
    const before = [asked(1, 1, 'aaaaaa')];
    expect(rule.overlaps?.(irma.kept, irma.head as never)).to.equal(true);
    expect(rule.overlaps?.(other.kept, other.head as never), 'its own').to.equal(false);
    expect(of(irma, [other], before)[0]).to.include({
      sentence:
        'select … from patients asks for the id of another request that ran at the same time (/my/overview, cccccc): this request got another one from src/sessions.ts:6',
      place: 'src/patients.ts:5',
    });
    expect(of(irma, [other], []), 'perhaps a constant').to.deep.equal([]);
    expect(of(irma, [asked(1, 1, 'cccccc')], before), 'of nobody').to.deep.equal([]);
    const list: AskedQuery = { sql: 'select id from patients', rows: 40, found: [{ id: 1 }] };
    expect(of(asked(1, 2, 'dddddd', [list]), [other], before), 'perhaps of a row').to.deep.equal([]);
  });

  describe('with credentials that only a mark tells apart', () => {
    const LIST = 'select id from visit where practice_id = $1';
    const INSERT = 'insert into visit (practice_id, reason) values ($1, $2)';
    /** A request with these credentials, `startedAt` after the one that is judged. */
    const visit = (
      mark: string,
      practice: string,
      startedAt: number,
      { sql = LIST, body = {}, first = [] }: { sql?: string; body?: Json; first?: AskedQuery[] } = {},
    ) => ({
      head: { token: `${mark}${startedAt}`, url: '/visits', status: 200, process: 'p1', startedAt },
      kept: {
        request: { ...keptRequest({ body }), headers: [], mark },
        database: keptQueries(...Array<AskedQuery>(9).fill({ sql: 'select 1', rows: 0 }), ...first, {
          sql,
          bindings: { practice_id: practice, reason: 'vaccination' },
        }),
        runtime: { concurrent: 2 },
      },
    });
    const ofInsert = (
      own: ReturnType<typeof visit>,
      overlapping: readonly object[],
      siblings: readonly object[],
    ) => draftsOf('value-of-another-request', own.kept, own.head, { overlapping, siblings });
    const insert = (more: { body?: Json; first?: AskedQuery[] } = {}, practice = 'moor') =>
      visit('nissen', practice, 0, { sql: INSERT, ...more });
    const before = [visit('nissen', 'hafen', -900)];
    const meanwhile = [visit('behn', 'moor', 5)];

    it('names the request that began meanwhile, whose value a statement got', () => {
      const { kept: own, head } = insert();
      const asks = [rule.compares, rule.relates, rule.overlaps];
      expect(asks.map((ask) => ask?.(own, head as never))).to.deep.equal([true, true, true]);
      const alone = { ...own, runtime: { concurrent: 1 } };
      expect(asks.map((ask) => ask?.(alone, head as never))).to.deep.equal([false, false, false]);
      const [draft] = ofInsert(insert(), meanwhile, before);
      expect(draft).to.include({ severity: 'bad', anchor: 'q10' });
      expect(draft?.sentence).to.match(
        /^insert into visit was given the practice_id of another caller, whose request began 5\.0 ms after this one \(behn5\), and not that of 1 earlier request of this one/,
      );
    });

    it('ignores a value that was received or read, one that varies, and a request that began before or did not use it', () => {
      expect(ofInsert(insert({}, 'hafen'), meanwhile, before), 'its own').to.deep.equal([]);
      expect(ofInsert(insert({ body: { practice: 'moor' } }), meanwhile, before), 'received').to.deep.equal(
        [],
      );
      const read = { sql: 'select practice from vets', found: [{ practice: 'moor' }] };
      expect(ofInsert(insert({ first: [read] }), meanwhile, before), 'read').to.deep.equal([]);
      const many = { sql: 'select practice from vets', rows: 40, found: [{ practice: 'hafen' }] };
      expect(ofInsert(insert({ first: [many] }), meanwhile, before), 'perhaps read').to.deep.equal([]);
      const both = [...before, visit('nissen', 'moor', -800)];
      expect(ofInsert(insert(), meanwhile, both), 'varies').to.deep.equal([]);
      expect(ofInsert(insert(), meanwhile, []), 'the first of this caller').to.deep.equal([]);
      expect(ofInsert(insert(), [visit('behn', 'moor', -5)], before), 'began before').to.deep.equal([]);
      expect(ofInsert(insert(), [visit('behn', 'moor', 15)], before), 'began afterwards').to.deep.equal([]);
      expect(ofInsert(insert(), [visit('behn', 'wald', 5)], before), 'another one').to.deep.equal([]);
      expect(ofInsert(insert(), [visit('nissen', 'moor', 5)], before), 'the same caller').to.deep.equal([]);
      const moved = [...before, visit('behn', 'hafen', -700)];
      expect(ofInsert(insert(), meanwhile, moved), 'all have moved').to.deep.equal([]);
    });
  });

  it('ignores a value of its own, of the address, or of both, and one that was not usual', () => {
    const own = listed('mia', 'south', 'dddddd');
    expect(of(listed('mia', 'north', 'dddddd')), 'its own').to.deep.equal([]);
    expect(of(listed('mia', 'south', 'dddddd', { clinic: 'south' })), 'of the address').to.deep.equal([]);
    expect(of(own, []), 'alone').to.deep.equal([]);
    expect(of(own, [listed('mia', 'south', 'cccccc')]), 'of the same member').to.deep.equal([]);
    expect(of(own, [running], [sam]), 'the first request of this member').to.deep.equal([]);
    expect(of(own, [running], [mia]), 'the first request of the other one').to.deep.equal([]);
    expect(of(own, [running], [mia, listed('mia', 'south', 'eeeeee'), sam]), 'both').to.deep.equal([]);
    const again = [mia, listed('mia', 'north', 'ffffff'), listed('mia', 'south', 'eeeeee'), sam];
    expect(of(own, [running], again), 'as once before').to.have.length(1);
    const yesterday = [listed('mia', 'north', 'aaaaaa'), listed('sam', 'north', 'bbbbbb')];
    expect(of(own, [running], yesterday), 'a value that changed for all').to.deep.equal([]);
  });
});

/** A request of this member below a patient, or for the patient. */
function answered(route: string, status: number, member: string, ...queries: AskedQuery[]) {
  return {
    head: { token: 'aaaaaa', method: 'GET', url: route.replace(':id', '2'), route, status },
    kept: {
      request: {
        ...keptRequest({ params: { id: '2' } }),
        headers: [{ name: 'x-member', value: member }],
      },
      database: keptQueries(...queries),
    },
  };
}

describe('finding owner-not-asked', () => {
  const rule = ruleOf('owner-not-asked');
  const one = (clause: string, value: string | number | boolean, rows = 0): AskedQuery => ({
    sql: `select * from patient where id = $1 and ${clause} = $2 limit 1`,
    bindings: { id: 2, [clause]: value },
    rows,
  });
  const visits = (more = ''): AskedQuery => ({
    sql: `select v.* from visit v left join patient p on p.id = v.patientId where p.id = $1${more}`,
    bindings: { id: 2 },
    caller: 'src/visits.ts:32',
  });
  const of = (query: AskedQuery, above: ReturnType<typeof answered>) => {
    const { head, kept: own } = answered('/patients/:id/visits', 200, 'mia', query);
    expect(rule.relates?.(own, head as never)).to.equal(true);
    return draftsOf('owner-not-asked', own, head, { siblings: [above] });
  };
  const refused = answered('/patients/:id', 404, 'mia', one('clinic', 'north'));

  it('names the column that the refused request asked for', () => {
    const [finding] = of(visits(), refused);
    expect(finding).to.include({ severity: 'bad', place: 'src/visits.ts:32', anchor: 'q1' });
    expect(finding?.sentence).to.equal(
      'select … from visit doesn’t ask for clinic: GET /patients/:id of the same x-member was answered with 404 (aaaaaa), because its statement does',
    );
  });

  it('ignores a route that asks for it, a switch, another member, and what was not refused', () => {
    expect(of(visits(" and p.clinic = 'north'"), refused), 'asks').to.deep.equal([]);
    expect(of({ ...visits(), rows: 0 }, refused), 'no rows').to.deep.equal([]);
    const above = (status: number, member: string, query: AskedQuery, route = '/patients/:id') =>
      of(visits(), answered(route, status, member, query));
    expect(above(404, 'mia', one('archived', false)), 'a switch').to.deep.equal([]);
    expect(above(404, 'sam', one('clinic', 'south')), 'another member').to.deep.equal([]);
    expect(above(200, 'mia', one('clinic', 'north', 1)), 'not refused').to.deep.equal([]);
    expect(above(404, 'mia', one('clinic', 'north'), '/rooms/:id'), 'another resource').to.deep.equal([]);
  });
});

describe('finding cache-of-another-user of a response that is sent again', () => {
  const KEY = 'idem:POST:/orders:A1';
  const order = { number: 'FM-1', kg: 1500 };
  const command = (name: string, key: string, more: object) => ({
    command: name, key, args: [], hits: null, asked: 0, startMs: 1, durationMs: 1, error: null, caller: 'src/idempotent.js:9', ...more,
  }); // prettier-ignore
  const asked = (farm: string) => command('HGET', `farms:${farm}`, { hits: 1, asked: 1, startMs: 0, caller: 'src/farm.js:5' }); // prettier-ignore
  const again = ({
    farm = 'vik',
    sent = order,
    method = 'POST',
    found = { status: 201, body: order },
  } = {}) => {
    const read = command('GET', KEY, { hits: 1, asked: 1, found: { value: JSON.stringify(found) } });
    const own = { request: keptRequest({ sent: sent as never }), cache: { items: [asked(farm), read] } };
    const stored = { request: keptRequest({}), cache: { items: [asked('lund'), command('SET', KEY, {})] } };
    const head = { token: 'aaaaaa', method: 'POST', url: '/orders', startedAt: 0 };
    return ruleOf('cache-of-another-user')
      .find(
        own as never,
        { ...head, method, startedAt: 100 } as never,
        { earlier: [{ head, kept: stored }] } as never,
      )
      .map(({ sentence }) => sentence);
  };

  it('is named if a line before asked for something else than it did for the request that stored it', () => {
    expect(again()).to.deep.equal([
      'GET found what POST /orders (aaaaaa) had stored for another caller (src/farm.js:5 asked for something else there), and this request answered with it: the key idem:POST:/orders:A1 names no caller',
    ]);
    expect(again({ farm: 'lund' }), 'the same caller again').to.deep.equal([]);
    expect(again({ sent: { ...order, number: 'FM-2' } }), 'another response').to.deep.equal([]);
    expect(again({ method: 'GET' }), 'may be the same for all').to.deep.equal([]);
  });
});

describe('findings from what the address names, and what may be done with it', () => {
  const of = (name: string, database: object, params: Record<string, string>, head: object, body = {}) => {
    const request = keptRequest({ params, body });
    return sentencesOf(name, { database, request }, { status: 200, ...head });
  };

  it('a row below another parent than that of the address', () => {
    const note = (caseId: number, more: readonly AskedQuery[] = []) =>
      keptQueries(
        {
          sql: 'SELECT id, case_id FROM notes WHERE id = $1',
          bindings: { id: '3' },
          found: [{ id: 3, case_id: caseId }],
        },
        ...more,
      );
    const route = '/cases/:caseId/notes/:noteId';
    const sentence =
      'select … from notes found the row 3 by its id alone: its case_id is 2, but the address says 1';
    const params = { caseId: '1', noteId: '3' };
    expect(of('other-parent', note(2), params, { method: 'GET', route })).to.deep.equal([sentence]);
    const byId = { id: '1', noteId: '3' };
    expect(of('other-parent', note(2), byId, { route: '/cases/:id/notes/:noteId' })).to.deep.equal([
      sentence,
    ]);
    expect(of('other-parent', note(1), params, { route })).to.deep.equal([]);
    expect(of('other-parent', note(2), params, { route, status: 404 })).to.deep.equal([]);
    expect(
      of('other-parent', note(2), params, { route: '/cases/:caseId/likes/:noteId' }),
      'no note',
    ).to.deep.equal([]);
    const moves = { sql: 'update notes set case_id = $1 where id = $2', bindings: { case_id: '1', id: '3' } };
    expect(of('other-parent', note(2, [moves]), params, { method: 'PUT', route }), 'moved').to.deep.equal([]);
  });

  it('a change that was sent before its check was answered', () => {
    const queries = (askedMs: number, found: object = { role: 'viewer' }) => {
      const database = keptQueries(
        {
          sql: 'SELECT role FROM members WHERE board_id = $1 AND user_id = $2',
          bindings: { board_id: '1', user_id: 2 },
          found: [found as never],
          caller: 'src/permissions.ts:4',
        },
        { sql: 'UPDATE boards SET title = $2 WHERE id = $1', bindings: { id: '1', title: 'Move' } },
      );
      const [check, change] = database.queries.map((query) => ({ ...query, waitMs: 0 }));
      return { ...database, queries: [check, { ...change, startMs: 9, waitMs: 9 - askedMs }] };
    };
    const head = { method: 'PATCH', route: '/boards/:id' };
    const check = (database: object, title = 'Move') =>
      of('check-not-awaited', database, { id: '1' }, head, { title });
    expect(check(queries(0.5))).to.deep.equal([
      'update boards was sent before select … from members was answered: that check of role could not stop it, as nothing awaited it',
    ]);
    expect(check(queries(1.5)), 'awaited').to.deep.equal([]);
    expect(check(queries(0.5, { name: 'Ada' })), 'no check').to.deep.equal([]);
    expect(check(queries(0.5), 'Other'), 'nothing received was written').to.deep.equal([]);
  });

  it('a check that found no row, in a middleware that called next() all the same', () => {
    const CHECK =
      "SELECT 1 FROM documents d LEFT JOIN grants g ON g.level = 'write' WHERE d.id = $1 AND (d.owner_id = $2 OR g.level IS NOT NULL)";
    const ran = (rows: number, sql = CHECK) =>
      keptQueries(
        { sql, rows, bindings: { id: '1', owner_id: 2 }, caller: 'src/access.ts:15' },
        { sql: 'UPDATE documents SET body = $2 WHERE id = $1', bindings: { id: '1', body: 'Hymn' } },
      );
    const before = (rows: number, status = 303, sql = CHECK) => ({
      head: { token: `a${rows}`, status },
      kept: { database: ran(rows, sql) },
    });
    const layer = { name: 'canWrite', kind: 'middleware', startMs: -1, nextMs: 1.5, outcome: 'next' };
    const check = (
      database: object,
      { earlier = [before(1)], outcome = 'next', status = 303 } = {},
    ): string[] =>
      sentencesOf(
        'check-not-awaited',
        {
          request: keptRequest({ params: { id: '1' }, body: { body: 'Hymn' } }),
          database,
          routing: { layers: [{ ...layer, outcome }] },
        },
        { method: 'POST', status },
        { earlier },
      );
    expect(check(ran(0))).to.deep.equal([
      'select … from documents found no row, and its middleware called next() all the same, as when it finds one (a1): update documents ran for the same id',
    ]);
    const bans = 'SELECT 1 FROM bans WHERE document_id = $1 AND user_id = $2';
    const near: [string, string[]][] = [
      ['it found one', check(ran(1))],
      ['it refused', check(ran(0), { status: 403 })],
      ['in the handler', check(ran(0), { outcome: 'running' })],
      ['it refused another request', check(ran(0), { earlier: [before(1), before(0, 403)] })],
      ['a row would refuse', check(ran(0), { earlier: [before(1, 403)] })],
      ['not known', check(ran(0), { earlier: [] })],
      ['no right', check(ran(0, bans), { earlier: [before(1, 303, bans)] })],
    ];
    for (const [what, found] of near) expect(found, what).to.deep.equal([]);
  });

  it('a check that a middleware did not wait for', () => {
    const check = ({
      rows = 0,
      tookMs = 9,
      nextMs = 1,
      sql = 'select 1 from members where board_id = $1',
    } = {}) => {
      const asked = keptQueries({ sql, rows, bindings: { board_id: '1' }, caller: 'src/allow.ts:2' });
      const queries = asked.queries.map((query) => ({
        ...query,
        startMs: 2,
        waitMs: 1.5,
        durationMs: tookMs,
      }));
      const { response, ...request } = keptRequest({ params: { id: '1' } });
      return ruleOf('check-not-awaited')
        .find(
          {
            request: { ...request, response: { ...response, headersAtMs: 8 } },
            database: { ...asked, queries },
            routing: {
              layers: [{ name: 'allow', kind: 'middleware', startMs: 0, nextMs, outcome: 'next' }],
            },
          },
          { method: 'GET', status: 200 } as never,
          { earlier: [] } as never,
        )
        .map(({ severity, sentence }) => `${severity} ${sentence}`);
    };
    const said =
      'allow called next() before select … from members was answered: that check could not stop the request';
    expect(check()).to.deep.equal([`bad ${said}, whose response was sent meanwhile. It found no row`]);
    expect(check({ rows: 1 })).to.deep.equal([`bad ${said}, whose response was sent meanwhile`]);
    expect(check({ tookMs: 2 })).to.deep.equal([`warn ${said}. It found no row`]);
    expect(check({ tookMs: 2, rows: 1 }), 'it let it pass').to.deep.equal([]);
    expect(check({ tookMs: 2, nextMs: 5 }), 'awaited').to.deep.equal([]);
    expect(check({ nextMs: 0.2 }), 'asked by what came later').to.deep.equal([]);
    expect(check({ sql: 'select 1 from visits where board_id = $1' }), 'no right').to.deep.equal([]);
  });
});
