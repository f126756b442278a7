/** Part of the storages' contract: requests added up by route and release, and found by release. */
import { expect } from 'chai';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import type { ProfileStorage, QueuedProfile } from '../../app/profiler/storage.ts';

type MakeProfile = (number: number, changes?: Partial<ProfileIndex>) => QueuedProfile;

const START = 1_700_000_000_000;

export function describeReleases(storage: () => ProfileStorage, profileOf: MakeProfile): void {
  let number = 0;
  const seen = (release: string | null, changes: Partial<ProfileIndex> = {}): QueuedProfile => {
    number++;
    return profileOf(number, { release, startedAt: START + number * 1000, ...changes });
  };
  beforeEach(() => {
    number = 0;
  });

  it('adds up each route by release, what was seen last first', async () => {
    await storage().write([
      seen('v1', { durationMs: 10, queries: 3 }),
      seen('v1', { durationMs: 30, queries: 4 }),
      seen('v1', { durationMs: 20, queries: 3 }),
      seen('v2', { durationMs: 40, queries: 17 }),
      seen('v2', { durationMs: 1, queries: 0, status: 500 }),
      seen('v2', { method: 'POST', durationMs: null, queries: 1 }),
      seen(null, { queries: 99 }),
      seen('v2', { route: null, queries: 99 }),
      seen('v2', { kind: 'profiler', queries: 99 }),
    ]);
    const of = { route: '/items/:id', method: 'GET' };
    const v2 = {
      ...of,
      release: 'v2',
      count: 2,
      errors: 1,
      p50Ms: 40,
      p95Ms: 40,
      queries: 17,
      firstAt: START + 4000,
      lastAt: START + 5000,
      newest: '000005',
    };
    const v1 = {
      ...of,
      release: 'v1',
      count: 3,
      errors: 0,
      p50Ms: 20,
      p95Ms: 30,
      queries: 3,
      firstAt: START + 1000,
      lastAt: START + 3000,
      newest: '000003',
    };
    const posted = {
      ...v2,
      method: 'POST',
      count: 1,
      errors: 0,
      p50Ms: null,
      p95Ms: null,
      queries: 1,
      firstAt: START + 6000,
      lastAt: START + 6000,
      newest: '000006',
    };
    expect(await storage().summarizeReleases({})).to.deep.equal([posted, v2, v1]);
    expect(await storage().summarizeReleases({ of })).to.deep.equal([v2, v1]);
    expect(await storage().summarizeReleases({ of: { ...of, route: `'; \0\ud800` } })).to.deep.equal([]);
  });

  it('has no figures of a release of which every request failed', async () => {
    await storage().write([seen('v1', { error: 'Error: no', durationMs: 5, queries: 2 })]);
    const [only] = await storage().summarizeReleases({});
    expect(only).to.include({ count: 1, errors: 1, p50Ms: null, p95Ms: null, queries: null });
  });

  it('reads only the newest, if told so', async () => {
    await storage().write([seen('v1'), seen('v2'), seen('v2')]);
    const found = await storage().summarizeReleases({ most: 2 });
    expect(found.map(({ release, count }) => [release, count])).to.deep.equal([['v2', 2]]);
  });

  it('finds the requests of a release, of a commit by its first digits', async () => {
    await storage().write([seen('3f2a1b9c7d10'), seen('3f2a1b9'), seen('v1'), seen('v10'), seen(null)]);
    const find = async (release: string): Promise<string[]> =>
      (await storage().find({ release, limit: 10, offset: 0 })).rows.map(({ token }) => token);
    expect(await find('v1')).to.deep.equal(['000003']);
    expect(await find('3f2a1b9')).to.deep.equal(['000002', '000001']);
    expect(await find('3f2a1b9c7d10')).to.deep.equal(['000001']);
    expect(await find('3f2a1b')).to.deep.equal([]);
    expect(await find('%')).to.deep.equal([]);
  });
}
