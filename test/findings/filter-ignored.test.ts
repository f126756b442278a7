import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding filter-ignored', () => {
  const of = (query: Record<string, string>, tickets: readonly object[], asked: Partial<AskedQuery> = {}) => {
    const database = keptQueries({ sql: 'select * from tickets', rows: tickets.length, ...asked });
    const request = keptRequest({ query, sent: { count: tickets.length, tickets } as never });
    const head = { method: 'GET', status: 200 };
    return draftsOf('filter-ignored', { database, request }, head).map(
      ({ sentence, place }) => `${sentence} (${place})`,
    );
  };
  const archived = [false, true, false, true].map((value, id) => ({ id, archived: value }));
  const kinds = ['bug', 'task', 'bug'].map((kind, id) => ({ id, kind }));

  it('names entries that contradict a parameter of the query', () => {
    expect(of({ archived: 'false' }, archived)).to.deep.equal([
      'archived=false was received, but 2 of 4 entries of tickets have other values, such as archived true: no statement asks for archived (src/a.ts:5)',
    ]);
    expect(of({ kind: 'bug' }, kinds)).to.deep.equal([
      'kind=bug was received, but 1 of 3 entries of tickets has other values, such as kind task: no statement asks for kind (src/a.ts:5)',
    ]);
  });

  it('ignores what may be meant so, and a condition that was asked for', () => {
    expect(of({ archived: 'true' }, archived), 'as well').to.deep.equal([]);
    expect(of({ open: 'false' }, [{ open: true }, { open: false }]), 'all').to.deep.equal([]);
    expect(of({ kind: 'bug' }, [{ kind: 'task' }, { kind: 'task' }]), 'none has it').to.deep.equal([]);
    expect(of({ kind: 'bug' }, [{ kind: 'bug' }])).to.deep.equal([]);
    expect(of({ sort: 'bug' }, [{ sort: 'bug' }, { sort: 'a' }])).to.deep.equal([]);
    const sql = 'select * from tickets where kind >= $1';
    expect(of({ kind: 'bug' }, kinds, { sql, bindings: { kind: 'b' } })).to.deep.equal([]);
  });
});
