import { expect } from 'chai';
import type { Kept } from '../../app/findings/shared/kept.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { besideOf } from '../support/beside.ts';
import { draftsOf } from '../support/find-by-rule.ts';

/** How long a collection takes is the machine's business: the times are made, the rest is real. */
describe('finding garbage-collection', () => {
  const ask = withFindingsApp((app) => {
    app.get('/few', (_req, res) => {
      res.json(Array.from({ length: 20_000 }, (_, id) => ({ id })).length);
    });
  });

  function find(
    collections: Kept['runtime']['collections'],
    concurrent = 1,
    durationMs = 300,
    cpuUserMs = 200,
  ) {
    const runtime = { collections, concurrent, cpuUserMs, cpuSystemMs: 10 } as Kept['runtime'];
    const spans = (collections ?? []).map((one) => ({
      ...one,
      kind: 'collection' as const,
      global: true as const,
    }));
    return draftsOf(
      'garbage-collection',
      { runtime },
      { durationMs },
      besideOf(spans, { totalMs: durationMs }),
    );
  }

  it('says how long collections took, and how many requests were running', () => {
    const collections = [
      { startMs: 1, durationMs: 40, kind: 'major' },
      { startMs: 90, durationMs: 22, kind: 'minor' },
    ];
    expect(find(collections)[0]).to.include({
      sentence: 'Garbage collection ran 2 times and took 62.0 ms (21 % of the request)',
      anchor: 'gc1',
    });
    expect(find(collections, 4)[0]?.sentence).to.match(/; 3 other requests overlapped with this one$/);
  });

  it('ignores ordinary collections', async () => {
    expect(find([{ startMs: 1, durationMs: 49, kind: 'major' }])).to.deep.equal([]);
    expect(find([{ startMs: 1, durationMs: 60, kind: 'major' }], 1, 700)).to.deep.equal([]);
    // The machine was late.
    expect(find([{ startMs: 1, durationMs: 72, kind: 'minor' }], 1, 100, 20)).to.deep.equal([]);
    expect(find([])).to.deep.equal([]);
    expect((await ask('/few')).of('garbage-collection')).to.deep.equal([]);
  });
});
