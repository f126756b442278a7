import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

describe('finding unlocked-update, of one request', () => {
  const read = (points: number) => ({
    sql: 'SELECT points FROM customers WHERE id = ?',
    system: 'mysql',
    bindings: { id: 1 },
    found: [{ points }],
  });
  const update = (points: number) => ({
    sql: 'UPDATE customers SET points = ? WHERE id = ?',
    system: 'mysql',
    bindings: { points, id: 1 },
  });
  const of = (...asked: readonly AskedQuery[]) => {
    const kept = { database: keptQueries(...asked), request: keptRequest() };
    return sentencesOf('unlocked-update', kept);
  };

  it('names the numbers of updates that rest on the same one', () => {
    expect(of(read(120), read(120), update(209), update(129), read(129))).to.deep.equal([
      '2 × update customers set points to 209 and 129, each computed from the same 120: the last one stays, so points is 129, where all of them make 218',
    ]);
  });

  it('takes updates that follow their own reads for correct within the request', () => {
    const usual = /of two requests at once, one is lost$/;
    expect(of(read(120), update(209), read(209), update(218))[0]).to.match(usual);
    expect(of(read(120), update(150), update(209))[0], 'one read, a running number').to.match(usual);
  });
});

describe('finding version-not-compared', () => {
  const plan: AskedQuery = {
    sql: 'select * from plans where id = $1',
    bindings: { id: 1 },
    found: [{ id: 1, goal: 'a', version: 2 }],
  };
  const revise: AskedQuery = {
    sql: 'update plans set goal = $1, version = $2 where id = $3 and version = $4',
    bindings: [
      ['goal', 'b'],
      ['version', 3],
      ['id', 1],
      ['version', 2],
    ],
    caller: 'src/plans.ts:31',
  };
  const of = (
    body: Json,
    queries: readonly AskedQuery[] = [plan, revise],
    { status = 200, match }: { status?: number; match?: string } = {},
  ): string[] => {
    const headers = match === undefined ? [] : [{ name: 'if-match', value: match }];
    const request = { ...keptRequest({ body }), headers };
    return sentencesOf(
      'version-not-compared',
      { database: keptQueries(...queries), request },
      { method: 'PUT', status },
    );
  };
  const compared =
    ' was received, but the row had version 2: update plans asked for the version that this request had read, so what was changed since is written over';

  it('names a version that is older than the row that was changed', () => {
    expect(of({ version: 1, goal: 'b' })).to.deep.equal([`version 1${compared}`]);
    expect(of({ goal: 'b' }, undefined, { match: 'W/"1"' })).to.deep.equal([`If-Match 1${compared}`]);
    const mapped = { ...plan, found: [{ Plan_id: 1, Plan_version: 2 }] };
    const counted = {
      sql: 'update plans set goal = $1, version = version + 1 where id = $2',
      bindings: [
        ['goal', 'b'],
        ['id', 1],
      ],
    } as const;
    expect(of({ version: 1 }, [mapped, counted])).to.deep.equal([
      'version 1 was received, but the row had version 2: update plans counted it up without a condition on version, so what was changed since is written over',
    ]);
    const moments = ['2026-11-30T10:00:00.000Z', '2026-11-30T11:00:00.000Z'];
    const touched = { ...plan, found: [{ id: 1, updated_at: moments[1] ?? '' }] };
    const touch: AskedQuery = {
      sql: 'update plans set goal = $1 where id = $2 and updated_at = $3',
      bindings: { goal: 'b', id: 1, updated_at: moments[1] ?? '' },
    };
    expect(of({ updatedAt: moments[0] ?? '' }, [touched, touch])).to.have.length(1);
  });

  it('is silent about the version of the row, one that was compared, a refusal, other rows, and a value that is stored', () => {
    expect(of({ version: 2, goal: 'b' })).to.deep.equal([]);
    expect(of({ goal: 'b' })).to.deep.equal([]);
    expect(of({ version: 1 }, [plan, { ...revise, rows: 0 }])).to.deep.equal([]);
    expect(of({ version: 1 }, undefined, { status: 409 })).to.deep.equal([]);
    expect(of({ lines: [{ version: 1 }] })).to.deep.equal([]);
    expect(
      of({ version: 1 }, [
        { ...plan, found: [{ id: 2, version: 2 }] },
        {
          ...revise,
          sql: 'update plans set goal = $1, version = $2 where id = $3',
          bindings: [
            ['goal', 'b'],
            ['version', 3],
            ['id', 1],
          ],
        },
      ]),
    ).to.deep.equal([]);
    const stored: AskedQuery = {
      sql: 'update plans set version = $1 where id = $2',
      bindings: { version: 1, id: 1 },
    };
    expect(of({ version: 1 }, [plan, stored])).to.deep.equal([]);
    expect(
      of({ version: '1.2.0' }, [
        { ...plan, found: [{ id: 1, version: '1.3.0' }] },
        { ...stored, bindings: { version: '1.2.0', id: 1 } },
      ]),
    ).to.deep.equal([]);
    const touched = { ...plan, found: [{ id: 1, updated_at: '2026-11-30T11:00:00.000Z' }] };
    const touch: AskedQuery = {
      sql: 'update plans set goal = $1, updated_at = now() where id = $2',
      bindings: { goal: 'b', id: 1 },
    };
    expect(of({ updatedAt: '2026-11-30T10:00:00.000Z' }, [touched, touch]), 'no lock').to.deep.equal([]);
  });
});
