import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, type AskedRequest, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

interface Asked extends AskedRequest {
  url?: string;
  type?: string;
  text?: string;
  session?: Json;
  startedAt?: number;
  method?: string;
  /** What a service responded to it. */
  reply?: Json;
  headers?: Readonly<Record<string, string>>;
  /** The mail that it sent. */
  mail?: { to: string[]; cc: string[] };
}

function keptOf(
  { type, text, session, reply, mail, headers = {}, ...asked }: Asked,
  queries: readonly AskedQuery[],
) {
  const request = keptRequest(asked);
  const sent = Object.entries(headers).map(([name, value]) => ({ name, value }));
  const response = { ...request.response, headers: sent };
  if (type !== undefined) Object.assign(response, { contentType: type, text: text ?? null });
  const sessionAndUser = session === undefined ? request.sessionAndUser : { session };
  return {
    request: { ...request, jar: [], headers: [], sessionAndUser, response },
    routing: { layers: [], route: { source: 'src/a.ts:3' } },
    database: keptQueries(...queries),
    ...(mail === undefined ? {} : { mail: { items: [{ ...mail, bcc: [], caller: 'src/mail.ts:9' }] } }),
    ...(reply === undefined
      ? {}
      : { http_client: { calls: [{ responseBody: { text: JSON.stringify(reply) } }] } }),
  };
}

function found(
  name: string,
  asked: Asked,
  queries: readonly AskedQuery[] = [],
  earlier: readonly [Asked, readonly AskedQuery[]][] = [],
): string[] {
  const headOf = ({ url = '/trails', startedAt = 5, method = 'GET' }: Asked, token = 'aaaaaa') =>
    ({ method, status: 200, outcome: 'finished', process: 'vm:1', url, startedAt, token }) as never;
  const beside = {
    siblings: [],
    earlier: earlier.map(([before, ran]) => ({
      head: headOf(before, 'bbbbbb'),
      kept: keptOf(before, ran),
    })),
  };
  return sentencesOf(name, keptOf(asked, queries), headOf(asked), beside);
}

describe('findings from answers that hold something else', () => {
  it('a filter of another request', () => {
    const filtered = (region: string, order: string): AskedQuery => ({
      sql: `select * from trails where region = $1 and dogs = $2 order by ${order}`,
      bindings: { region, dogs: 1 },
    });
    const before: [Asked, readonly AskedQuery[]] = [
      { url: '/trails?region=harz&dogs=yes', query: { region: 'harz', dogs: 'yes' } },
      [filtered('harz', 'name')],
    ];
    const of = (asked: Asked, region = 'harz') =>
      found('filter-left', asked, [filtered(region, 'km')], [before]);
    expect(of({ query: { sort: 'km' } })).to.deep.equal([
      'select … from trails compares region and dogs with values that this request did not send, but an earlier one did (bbbbbb): the process may hold them for all',
    ]);
    expect(of({ query: { region: 'harz' } }), 'one is no proof').to.deep.equal([]);
    expect(of({}, 'eifel')).to.deep.equal([]);
    const oldest: [Asked, readonly AskedQuery[]] = [{ startedAt: 0 }, [filtered('harz', 'name')]];
    expect(found('filter-left', {}, [filtered('harz', 'km')], [before, oldest]), 'defaults').to.deep.equal(
      [],
    );
    expect(of({ session: { region: 'harz' } })).to.deep.equal([]);
  });

  it('a list that an earlier request had filled', () => {
    const order = (customer: string, extras: string[]) => ({ order: { customer, extras } });
    const given = (customer: string, extras?: string[]): Asked => ({
      method: 'POST',
      body: { customer, ...(extras === undefined ? {} : { extras }) },
      sent: order(customer, extras ?? ['berries']),
    });
    const of = (asked: Asked, earlier: Asked[], queries: AskedQuery[] = []) =>
      found(
        'list-left',
        asked,
        queries,
        earlier.map((one) => [one, []]),
      );
    const okan = given('Okan', ['berries']);
    expect(of(given('Ulla'), [okan])).to.deep.equal([
      'extras has berries, which this request neither received nor read: POST /trails (bbbbbb) received it. The process may hold it for all',
    ]);
    expect(of(given('Ulla', ['berries']), [okan]), 'received').to.deep.equal([]);
    expect(of(given('Ulla'), [given('Okan', ['icing'])]), 'nobody sent it').to.deep.equal([]);
    expect(of(given('Ulla'), [okan, given('Beate')]), 'a default').to.deep.equal([]);
    expect(of({ ...given('Ulla'), method: 'GET' }, [okan])).to.deep.equal([]);
    expect(of({ ...given('Ulla'), params: { id: '7' } }, [okan]), 'a thing that was there').to.deep.equal([]);
    expect(of({ ...given('Ulla'), sent: order('Okan', ['berries']) }, [okan]), 'of another').to.deep.equal(
      [],
    );
    const read = { sql: 'select name from extras', found: [{ name: 'berries' }] };
    expect(of(given('Ulla'), [okan], [read]), 'read').to.deep.equal([]);
    expect(of({ ...given('Ulla'), reply: { extras: ['berries'] } }, [okan]), 'of a service').to.deep.equal(
      [],
    );
    const again = { ...given('Okan', ['icing']), sent: order('Okan', ['berries', 'icing']) };
    expect(of(again, [okan]), 'a cart').to.deep.equal([]);
    const priced = (customer: string, extra: string, parts: object): Asked => ({
      ...given(customer, [extra]),
      sent: { customer, parts: parts as never },
    });
    const pane = priced('Ib', 'glass-pane', { seal: 12, 'Glass pane': 89 });
    const tove = priced('Tove', 'plate', { seal: 12, 'Glass pane': 89, plate: 47 });
    expect(of(tove, [pane])).to.deep.equal([
      'parts has Glass pane, which this request neither received nor read: POST /trails (bbbbbb) received it. The process may hold it for all',
    ]);
  });

  it('a copy of a mail that an earlier request had asked for', () => {
    const mailed = (email: string, copyTo: string[], cc: string[]): Asked => ({
      method: 'POST',
      body: { email, copyTo },
      mail: { to: [`You <${email}>`], cc },
    });
    const of = (asked: Asked, earlier: Asked[], queries: AskedQuery[] = []) =>
      found('list-left', asked, queries, earlier.map((one) => [one, []])); // prettier-ignore
    const paul = mailed('edith@a.example', ['paul@a.example'], ['office@b.example', 'paul@a.example']);
    const sofia = mailed('sofia@c.example', [], ['office@b.example', 'paul@a.example']);
    expect(of(sofia, [paul])).to.deep.equal([
      'the copy of the mail has paul@a.example, which this request neither received nor read: POST /trails (bbbbbb) received it. The process may hold it for all',
    ]);
    const read = { sql: 'select email from watchers', found: [{ email: 'paul@a.example' }] };
    expect(of(sofia, [paul], [read]), 'read').to.deep.equal([]);
    expect(of(mailed('sofia@c.example', [], ['office@b.example']), [paul])).to.deep.equal([]);
    expect(of(mailed('edith@a.example', [], ['paul@a.example']), [paul]), 'of the same').to.deep.equal([]);
    expect(of(mailed('x@c.example', ['paul@a.example'], ['paul@a.example']), [paul])).to.deep.equal([]);
  });

  it('rows in another order than their keys', () => {
    const recipes = [
      { id: 1, title: 'Torta', cook_id: 3 },
      { id: 2, title: 'Chana', cook_id: 2 },
      { id: 3, title: 'Karelian', cook_id: 1 },
    ];
    const cooks = ['Anneli', 'Bilal', 'Chiara'].map((name, at) => ({ id: at + 1, name }));
    const queries = (sql: string, bindings: AskedQuery['bindings']): AskedQuery[] => [
      { sql: 'select * from recipes', rows: 3, found: recipes },
      { sql, rows: 3, found: cooks, ...(bindings === undefined ? {} : { bindings }) },
    ];
    const any = queries('select id, name from cooks where id = any($1)', { $1: [3, 2, 1] });
    const answer = (names: readonly string[]) => ({
      data: recipes.map(({ title }, at) => ({ title, cook: { name: names[at] ?? '' } })),
    });
    const sentence =
      'select … from cooks returned its 3 rows in another order than the 3 keys it was given, and 2 objects of the response hold the row of another key: cook_id 3 got row 1';
    const wrong = { sent: answer(['Anneli', 'Bilal', 'Chiara']) };
    expect(found('rows-out-of-order', wrong, any)).to.deep.equal([sentence]);
    const listed = queries('select id, name from cooks where id in ($1, $2, $3)', [
      ['id', 3],
      ['id', 2],
      ['id', 1],
    ]);
    expect(found('rows-out-of-order', wrong, listed)).to.deep.equal([sentence]);
    expect(found('rows-out-of-order', { sent: answer(['Chiara', 'Bilal', 'Anneli']) }, any)).to.deep.equal(
      [],
    );
  });

  it('a page with a name of the session that any cache may keep', () => {
    const of = (control: string, more: Asked = {}, text = '<p>Marks of Nele Jansen</p>') =>
      found('cached-wrongly', {
        type: 'text/html',
        text,
        session: { pupil: { id: 1, name: 'Nele Jansen' } },
        headers: { 'Cache-Control': control },
        ...more,
      });
    expect(of('public, max-age=300')).to.deep.equal([
      'Shared caches may give this response to anybody for 300 seconds (public, max-age=300), but it has the pupil.name of the user who asked',
    ]);
    expect(of('private, max-age=300')).to.deep.equal([]);
    expect(of('public, max-age=300', {}, '<p>Marks</p>')).to.deep.equal([]);
    expect(
      of('public, max-age=300', { headers: { 'Cache-Control': 'public, max-age=300', Vary: 'Cookie' } }),
    ).to.deep.equal([]);
  });

  it('a script of a row in a page', () => {
    const row = (column: string): AskedQuery => ({
      sql: 'select * from reviews',
      found: [{ [column]: 'No <img src=x onerror="run()">\nfor me' }],
    });
    const text = '<p>No <img src=x onerror="run()"><br>for me</p>';
    const of = (page: string, column = 'body') =>
      found('unescaped-input', { type: 'text/html', text: page }, [row(column)]);
    expect(of(text)).to.deep.equal([
      'The HTML of the response contains the body that select … from reviews found as it is stored, not escaped: its markup runs in the page',
    ]);
    expect(of(text.replaceAll('<', '&lt;'))).to.deep.equal([]);
    expect(of(text, 'body_html')).to.deep.equal([]);
  });

  it('days of a page that moved', () => {
    const row: AskedQuery = { sql: 'select due_on from jabs', found: [{ due_on: '2025-06-01' }] };
    const of = (text: string) => found('day-moved', { type: 'text/html', text }, [row]);
    expect(of('<td>2025-05-31</td>')).to.deep.equal([
      'due_on was sent as the day before the one that select … from jabs returned: a local midnight was written in UTC',
    ]);
    expect(of('<td>2025-05-31 to 2025-06-01</td>')).to.deep.equal([]);
    expect(of('<td>1 June</td>')).to.deep.equal([]);
  });
});
