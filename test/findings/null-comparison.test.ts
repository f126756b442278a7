import { expect } from 'chai';
import { draftsOf } from '../support/find-by-rule.ts';

const NULL = { name: 'a', value: null };
const UNDEFINED = { name: 'a', value: '[undefined]', type: 'undefined' };
const SEVEN = { name: 'a', value: 7 };

function found(sql: string, bindings: object[], { rows = 0, status = 404 } = {}) {
  const query = { statement: 0, bindings, rows, error: null, group: null, caller: 'a.ts:3' };
  const kept = { database: { statements: [{ sql }], queries: [query] } };
  return draftsOf('null-comparison', kept, { status });
}

describe('finding null-comparison', () => {
  it('names the statement, the value and the line', () => {
    expect(found('select * from users where team = $1 and id = $2', [SEVEN, UNDEFINED])[0]).to.deep.include({
      label: 'compared with NULL',
      broke: 'response',
      sentence:
        'select … from users compares id with NULL (value 2 of 2), which is never true: it found no row',
      anchor: 'q1',
      place: 'a.ts:3',
    });
    expect(found('update users set name = ? where id = ?', [SEVEN, NULL], { status: 200 })[0]).to.include({
      broke: 'unseen',
    });
  });

  it('counts a value once where it stands before others of its kind', () => {
    expect(found('update users set name = ?, boss = ? where id = ?', [SEVEN, NULL, SEVEN])).to.deep.equal([]);
    expect(
      found('select 1 from a where b = $10', [...Array.from({ length: 9 }, () => SEVEN), NULL]),
    ).to.have.length(1);
  });

  it('ignores statements that found rows, set NULL, or have NULL in mind', () => {
    expect(found('select * from users where id = $1', [NULL], { rows: 1 })).to.deep.equal([]);
    expect(found('select * from users where id = $1', [SEVEN])).to.deep.equal([]);
    expect(found('insert into users (boss) values ($1)', [NULL])).to.deep.equal([]);
    expect(found("select * from users -- where id = $1\n where name = 'id = $1'", [NULL])).to.deep.equal([]);
    for (const condition of [
      '($1::int is null or id = $1)',
      'id is not distinct from $1',
      'id = coalesce($1, id)',
      'open or owner = $1',
    ])
      // prettier-ignore
      expect(found(`select * from users where ${condition}`, [NULL]), condition).to.deep.equal([]);
  });

  it('says that the request has a value of this name', () => {
    const query = {
      statement: 0,
      bindings: [UNDEFINED],
      rows: 0,
      error: null,
      group: null,
      caller: 'a.ts:3',
    };
    const kept = {
      database: { statements: [{ sql: 'select * from users where team_id = $1' }], queries: [query] },
      request: { query: [{ name: 'teamId', value: '4' }] },
    };
    expect(draftsOf('null-comparison', kept, { status: 200 })[0]?.sentence).to.equal(
      'select … from users compares team_id with NULL (value 1 of 1), which is never true: it found no row, although teamId was received',
    );
  });

  it('reads NULL in the text, in NOT IN, and in an empty list of a refused request', () => {
    expect(found('select * from users where boss = NULL', [])[0]?.sentence).to.contain(
      'compares boss with NULL,',
    );
    expect(found('select * from users where id not in ($1, $2)', [SEVEN, NULL])[0]?.sentence).to.equal(
      'select … from users asks for id not in a list that has NULL, which is never true: it found no row',
    );
    expect(found('select * from users where id in (NULL)', [])[0]).to.include({ label: 'empty list' });
    expect(found('select * from users where id in (NULL)', [], { status: 200 })).to.deep.equal([]);
  });
});
