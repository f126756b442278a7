import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

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

  describe('of a list that no statement read', () => {
    const depots = ['Linz', 'Linz', 'Linz'].map((depot, id) => ({ id, depot }));
    const of = (
      query: Record<string, string>,
      machines: readonly object[],
      before = 'Linz',
      database?: object,
    ) => {
      const [name = ''] = Object.keys(query);
      const request = keptRequest({ query, sent: { total: 3, machines } as never });
      const earlier = [
        {
          head: { token: 'a1b2c3', method: 'GET', url: '/machines' },
          kept: { request: keptRequest({ query: { [name]: before } }) },
        },
      ];
      const cache = { items: [{ hits: 1, caller: 'src/cache.ts:12' }] };
      const kept = { request, cache, ...(database === undefined ? {} : { database }) };
      return draftsOf('filter-ignored', kept, { method: 'GET', status: 200 }, { earlier }).map(
        ({ sentence, place }) => `${sentence} (${place})`,
      );
    };

    it('names the earlier request that asked for what all entries have', () => {
      expect(of({ 'filter[depot]': 'Steyr' }, depots)).to.deep.equal([
        'filter[depot]=Steyr was received, but 3 of 3 entries of machines have other values, such as depot Linz: GET /machines (a1b2c3) asked for that (src/cache.ts:12)',
      ]);
      expect(of({ depot: 'Steyr' }, depots)).to.have.length(1);
    });

    it('names the earlier request that got entries with the value', () => {
      const query = { depot: 'Steyr' };
      const earlier = [
        {
          head: { token: 'a1b2c3', method: 'GET', url: '/machines' },
          kept: { request: keptRequest({ sent: [{ depot: 'Linz' }, { depot: 'Steyr' }] }) },
        },
      ];
      const find = (value: string) =>
        sentencesOf('filter-ignored', { request: keptRequest({ query, sent: [{ depot: value }, { depot: value }] }) }, { method: 'GET', status: 200 }, { earlier }); // prettier-ignore
      expect(find('Linz')).to.deep.equal([
        'depot=Steyr was received, but 2 of 2 entries have other values, such as depot Linz: GET /machines (a1b2c3) returned entries that have it',
      ]);
      expect(find('Steyr')).to.deep.equal([]);
    });

    it('is silent about other words for the value, a field that some lack, and a statement that has the value', () => {
      expect(of({ depot: 'Steyr' }, depots, 'Wels'), 'nobody asked for Linz').to.deep.equal([]);
      expect(of({ depot: 'linz' }, depots)).to.deep.equal([]);
      expect(of({ depot: 'all' }, depots)).to.deep.equal([]);
      expect(of({ depot: 'Steyr' }, [...depots, { id: 4 }]), 'some lack it').to.deep.equal([]);
      expect(of({ depot: 'Steyr' }, depots.slice(1, 2)), 'one entry').to.deep.equal([]);
      expect(
        of(
          { 'page[sort]': 'Steyr' },
          depots.map(({ depot }) => ({ sort: depot })),
        ),
      ).to.deep.equal([]);
      expect(of({ depot: 'bus' }, [{ depot: 'Linz' }, { depot: 'bus' }]), 'in memory').to.deep.equal([]);
      const database = keptQueries({ sql: 'select * from m where place = $1', bindings: { place: 'Steyr' } });
      expect(of({ depot: 'Steyr' }, depots, 'Linz', database)).to.deep.equal([]);
    });
  });
});
