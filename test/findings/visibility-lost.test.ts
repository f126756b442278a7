import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding visibility-lost', () => {
  const HIDDEN = { id: 2, author: 'omar', visibility: 'private' };
  const VISIBLE = { id: 3, author: 'omar', visibility: 'team' };
  const OWN = { id: 4, author: 'petra', visibility: 'private' };
  const kept = (user: string, where: string, found: Json[], caller = 'src/notes.js:21') => ({
    request: keptRequest({ user, sent: { notes: found } }),
    database: keptQueries({ sql: `select * from notes where ${where}`, found, rows: found.length, caller }),
  });
  const visible = (user: string) => `(visibility = 'team' or author = '${user}')`;
  const earlier = (user: string, where = visible(user), caller?: string) => ({
    head: { token: `a0000${user.length}` },
    kept: kept(user, where, [VISIBLE], caller),
  });
  const usual = [earlier('petra'), earlier('lena')];
  const of = ({
    where = "(title like '%release%' or body like '%release%')",
    found = [HIDDEN, VISIBLE, OWN],
    before = usual,
    method = 'GET',
  } = {}) =>
    draftsOf('visibility-lost', kept('petra', where, found), { method, status: 200 }, { earlier: before });

  it('says which columns the earlier requests of this line asked for, and how many rows they would not show', () => {
    expect(of()[0]).to.include({
      sentence:
        'select … from notes has no condition on author and visibility, which it had in 2 earlier requests (a00005, a00004): 1 row that the user could not see there was sent',
      place: 'src/notes.js:21',
      broke: 'response',
    });
  });

  it('is silent if the condition is there, not usual, or all rows may be seen', () => {
    const near: [string, readonly unknown[]][] = [
      ['it is there', of({ where: visible('petra') })],
      ['of the user alone', of({ where: "author = 'petra'" })],
      ['only what may be seen', of({ found: [VISIBLE, OWN] })],
      ['one other request', of({ before: usual.slice(0, 1) })],
      ['none of this user', of({ before: [earlier('lena'), earlier('omar')] })],
      ['one of them had none', of({ before: [...usual, earlier('petra', 'pinned = true')] })],
      ['for the own rows only', of({ before: [earlier('petra', "author = 'petra'"), earlier('lena', "author = 'lena'")] })],
      ['of another line', of({ before: ['petra', 'lena'].map((user) => earlier(user, visible(user), 'src/b.js:1')) })],
      ['joined by AND', of({ before: ['petra', 'lena'].map((user) => earlier(user, `author = '${user}' and visibility = 'team' and (id = 1 or id = 2)`)) })],
      ['a write', of({ method: 'POST' })],
    ]; // prettier-ignore
    for (const [what, found] of near) expect(found, what).to.deep.equal([]);
  });
});

describe('finding visibility-lost, of a branch', () => {
  const LINE = 'src/orders.ts:26';
  const rows = (...branches: number[]) =>
    branches.map((branch, at) => ({ id: at + 1, branch_id: branch, plate: 'GR-204-AB' }));
  const kept = (where: string, found: Json[], { branch = 'Groningen', user = undefined as Json | undefined, query = {} } = {}) => ({
    request: keptRequest({ query, ...(user === undefined ? {} : { user }), sent: { branch, orders: found } }),
    database: keptQueries({ sql: `select id, branch_id, plate from orders${where}`, found, rows: found.length, caller: LINE }),
  }); // prettier-ignore
  const earlier = (own: ReturnType<typeof kept>, at: number) => ({ head: { token: `a${at}` }, kept: own });
  const ofBranch = (id: number, branch: string, more = {}) =>
    kept(` where branch_id = ${id}`, rows(id, id), { branch, ...more });
  const usual = [ofBranch(1, 'Groningen'), ofBranch(2, 'Amsterdam')];
  const of = (own: ReturnType<typeof kept>, before: readonly ReturnType<typeof kept>[] = usual) =>
    draftsOf(
      'visibility-lost',
      own,
      { method: 'GET', status: 200 },
      {
        earlier: before.map(earlier),
      },
    );
  const lost = kept(" where status = 'waiting'", rows(1, 2, 1, 3), { query: { status: 'waiting' } });

  it('says of which other branches rows were sent', () => {
    expect(of(lost)[0]).to.include({
      sentence:
        'select … from orders has no condition on branch_id, which it had in 2 earlier requests (a0, a1): 2 rows of another branch_id were sent',
      severity: 'bad',
      place: LINE,
    });
    const user = { id: 7 };
    const one = kept(' where id = 9', rows(2), { branch: '', user });
    const byId = [1, 1].map((id) => ofBranch(id, '', { user }));
    expect(of(one, byId)[0]?.sentence).to.match(/1 row of another branch_id was sent$/);
  });

  it('is silent if it may see them all, filters by it, or has only own rows', () => {
    const near: [string, readonly unknown[]][] = [
      ['another name', of(kept('', rows(1, 2, 3), { branch: 'all branches' }))],
      ['another user', of(kept('', rows(1, 2), { user: { id: 8 }, branch: '' }), [1, 1].map((id) => ofBranch(id, '', { user: { id: 7 } })))],
      ['all, for the same user', of(kept('', rows(1, 2), { user: { id: 7 }, query: { all: 'yes' }, branch: '' }), [1, 1].map((id) => ofBranch(id, '', { user: { id: 7 } })))],
      ['own rows', of(kept(" where status = 'waiting'", rows(1, 1)))],
      ['a filter that was received', of(lost, usual.map((one, at) => ({ ...one, request: { ...one.request, query: [{ name: 'branch_id', value: String(at + 1) }] } })))],
      ['not usual', of(lost, [...usual, kept('', rows(1, 2))])],
      ['one other request', of(lost, usual.slice(0, 1))],
      ['in a list', of(kept(' where branch_id in (1, 2)', rows(1, 2)))],
    ]; // prettier-ignore
    for (const [what, found] of near) expect(found, what).to.deep.equal([]);
  });
});
