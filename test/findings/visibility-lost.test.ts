import { expect } from 'chai';
import { visibilityLost } from '../../app/findings/visibility.ts';
import type { Json } from '../../app/profiler/json.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

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
    visibilityLost.find(
      kept('petra', where, found) as never,
      { method, status: 200 } as never,
      { earlier: before } as never,
    );

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
