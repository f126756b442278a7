import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding members-lost', () => {
  const sql = 'update users set settings = settings || $2::jsonb where id = $1';
  const had = { notifications: { email: false, push: true, digest: 'daily' } };
  interface Change {
    sql?: string;
    body?: Json;
    bound?: Json;
    sent?: Json;
    before?: Json;
    id?: string;
  }
  function lost({ body = { notifications: { email: true } }, ...given }: Change = {}): string[] {
    const { bound = body, sent = null, before = had, id = '1' } = given;
    const kept = {
      request: keptRequest({ params: { id: '1' }, body, sent }),
      database: keptQueries({ sql: given.sql ?? sql, bindings: { id: 1, $2: bound } }),
    };
    const past = {
      head: { token: 'a0', url: `/users/${id}`, status: 200, startedAt: 1 },
      kept: { request: keptRequest({ params: { id }, sent: before }) },
    };
    const head = { method: 'PATCH', url: '/users/1', status: 200, startedAt: 2 };
    const found = draftsOf('members-lost', kept, head, { earlier: [], siblings: [past] });
    return (found ?? []).map(({ sentence }) => sentence);
  }

  it('names the members that the row had', () => {
    expect(lost()).to.deep.equal([
      'update users got notifications as it was received: push, digest, which it had in an earlier response (a0), are lost, as || merges only the top level',
    ]);
    expect(lost({ sent: { settings: { notifications: { email: true } } } })).to.have.length(1);
    const whole = 'update users set settings = $2 where id = $1';
    const spread = JSON.stringify({ language: 'de', notifications: { email: true } });
    expect(lost({ sql: whole, bound: spread })[0]).to.match(/, are lost$/);
  });

  it('ignores objects that were merged, sent whole, or are of another row', () => {
    const deep =
      "update users set settings = jsonb_set(settings, '{notifications}', settings->'notifications' || $2)";
    expect(lost({ sql: deep })).to.deep.equal([]);
    expect(lost({ bound: { notifications: { ...had.notifications, email: true } } })).to.deep.equal([]);
    expect(lost({ body: { notifications: { ...had.notifications, email: true } } })).to.deep.equal([]);
    expect(lost({ sent: { notifications: { ...had.notifications, email: true } } })).to.deep.equal([]);
    expect(lost({ before: { notifications: { email: false } } })).to.deep.equal([]);
    expect(lost({ body: { notifications: 'none' } })).to.deep.equal([]);
    expect(lost({ id: '2' })).to.deep.equal([]);
  });
});
