/** Part of the storages' contract: requests added up by route. */
import { expect } from 'chai';
import {
  DURATION_EDGES,
  LOOKED_BACK,
  LOOKED_BACK_MS,
  MOST_MARKS,
  MOST_ROUTES,
  type RouteSummaries,
  type RouteSummary,
  SUMMARY_STEPS,
  type SummaryQuery,
} from '../../app/profiler/route-summary.ts';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import type { ProfileStorage, QueuedProfile } from '../../app/profiler/storage.ts';

type MakeProfile = (number: number, changes?: Partial<ProfileIndex>) => QueuedProfile;

const START = 1_700_000_000_000;
const HOUR = 3_600_000;

export function describeSummaries(storage: () => ProfileStorage, profileOf: MakeProfile): void {
  const summarize = (query: Partial<SummaryQuery> = {}): Promise<RouteSummaries> =>
    storage().summarize({ from: START, until: START + HOUR, ...query });
  const one = async (query: Partial<SummaryQuery> = {}): Promise<RouteSummary> => {
    const [first, ...others] = (await summarize(query)).routes;
    if (first === undefined || others.length > 0) throw new Error('One route was to be found.');
    return first;
  };

  it('has nothing to add up in an empty storage', async () => {
    expect(await summarize()).to.deep.equal({
      routes: [],
      more: 0,
      looked: 0,
      newestOnly: false,
      totalMs: 0,
      from: START,
      until: START + HOUR,
    });
    expect((await summarize({ from: 0 })).routes).to.deep.equal([]);
  });

  it('adds up the requests of a route and method', async () => {
    const durations = [4, 1, 3, 2, 100];
    await storage().write(
      durations.map((durationMs, i) =>
        profileOf(i + 1, { durationMs, queries: i, startedAt: START + i * 1000 }),
      ),
    );
    const { steps, durations: histogram, ...figures } = await one();
    expect(figures).to.deep.equal({
      route: '/items/:id',
      method: 'GET',
      status: null,
      count: 5,
      errors: 0,
      totalMs: 110,
      p50Ms: 3,
      p95Ms: 100,
      maxMs: 100,
      queries: 2,
      lastAt: START + 4000,
      newest: '000005',
      slowest: '000005',
      marks: [],
    });
    expect(steps).to.have.length(SUMMARY_STEPS);
    expect(steps[0]).to.deep.equal({ count: 5, errors: 0, p50Ms: 3, p95Ms: 100, maxMs: 100 });
    expect(steps[1]).to.deep.equal({ count: 0, errors: 0, p50Ms: null, p95Ms: null, maxMs: null });
    expect(histogram).to.have.length(DURATION_EDGES.length + 1);
    // 1; 2, 3 and 4 (an edge belongs to what lies above it); 100.
    expect(histogram.slice(0, 8)).to.deep.equal([0, 1, 3, 0, 0, 0, 0, 1]);
  });

  it('parts the time asked for into steps, with what failed in each', async () => {
    const step = HOUR / SUMMARY_STEPS;
    await storage().write([
      profileOf(1, { startedAt: START, durationMs: 5 }),
      profileOf(2, { startedAt: START + step - 1, status: 503 }),
      profileOf(3, { startedAt: START + step, durationMs: 7, error: 'Error: no' }),
      profileOf(4, { startedAt: START + HOUR - 1, durationMs: null, status: null }),
    ]);
    const { steps, errors } = await one();
    expect(errors).to.equal(2);
    expect(steps.map(({ count }) => count)).to.deep.equal([2, 1, ...Array<number>(21).fill(0), 1]);
    expect(steps[0]?.errors).to.equal(1);
    expect(steps[1]).to.deep.equal({ count: 1, errors: 1, p50Ms: 7, p95Ms: 7, maxMs: 7 });
    expect(steps.at(-1)).to.deep.equal({ count: 1, errors: 0, p50Ms: null, p95Ms: null, maxMs: null });
  });

  it('names the newest and the slowest, and no slowest where none has ended', async () => {
    await storage().write([
      profileOf(1, { durationMs: 9 }),
      profileOf(2, { durationMs: 1 }),
      profileOf(3, { durationMs: null, state: 'running', method: 'POST' }),
    ]);
    const { routes } = await summarize();
    expect(routes.map(({ newest, slowest }) => [newest, slowest])).to.deep.equal([
      ['000002', '000001'],
      ['000003', null],
    ]);
    expect(routes[1]).to.include({ count: 1, totalMs: 0, p50Ms: null, p95Ms: null, maxMs: null });
  });

  it('gives the costliest first, methods apart, requests only', async () => {
    await storage().write([
      profileOf(1, { durationMs: 10 }),
      profileOf(2, { durationMs: 30, method: 'POST' }),
      profileOf(3, { durationMs: 20, route: '/other' }),
      profileOf(4, { durationMs: 90, kind: 'profiler' }),
      profileOf(5, { durationMs: 90, kind: 'error_page' }),
    ]);
    const found = await summarize();
    expect(found.routes.map(({ method, route }) => `${method} ${route ?? ''}`)).to.deep.equal([
      'POST /items/:id',
      'GET /other',
      'GET /items/:id',
    ]);
    expect(found).to.include({ totalMs: 60, looked: 3, newestOnly: false, more: 0 });
  });

  it('groups requests without a route by status, whatever their method', async () => {
    await storage().write([
      profileOf(1, { route: null, status: 404, method: 'GET' }),
      profileOf(2, { route: null, status: 404, method: 'PROPFIND' }),
      profileOf(3, { route: null, status: 400 }),
      profileOf(4, { route: null, status: null, durationMs: null }),
      profileOf(5, { route: '', status: 404 }),
    ]);
    const { routes } = await summarize();
    expect(routes.map(({ route, method, status, count }) => [route, method, status, count])).to.deep.equal([
      ['', 'GET', null, 1],
      [null, '', 404, 2],
      [null, '', 400, 1],
      [null, '', null, 1],
    ]);
  });

  it('looks at one group alone', async () => {
    const hostile = `'; drop table "x" \0\ud800`;
    await storage().write([
      profileOf(1),
      profileOf(2, { method: 'POST' }),
      profileOf(3, { route: null, status: 404 }),
      profileOf(4, { route: null, status: null }),
    ]);
    const counts = async (group: SummaryQuery['group'] & object): Promise<string[]> =>
      (await summarize({ group })).routes.map(({ newest }) => newest);
    expect(await counts({ route: '/items/:id', method: 'POST', status: null })).to.deep.equal(['000002']);
    expect(await counts({ route: null, method: '', status: 404 })).to.deep.equal(['000003']);
    expect(await counts({ route: null, method: '', status: null })).to.deep.equal(['000004']);
    expect(await counts({ route: hostile, method: hostile, status: null })).to.deep.equal([]);
  });

  it('counts the marks of its requests, the most frequent first', async () => {
    const marks = ['b', 'a', 'b', null, 'c', 'd', 'e', 'e'];
    await storage().write(marks.map((mark, i) => profileOf(i + 1, { mark })));
    const found = (await one()).marks;
    expect(found).to.have.length(MOST_MARKS);
    expect(found.slice(0, 3)).to.deep.equal([
      { mark: 'b', count: 2 },
      { mark: 'e', count: 2 },
      { mark: 'a', count: 1 },
    ]);
  });

  it('tells what the requests of a route took before a moment, and nobody else', async () => {
    const took = (durationMs: number | null, more: Partial<ProfileIndex> = {}): Partial<ProfileIndex> => ({
      durationMs,
      ...more,
    });
    await storage().write([
      profileOf(1, took(4, { responseBytes: 500, blockedMs: 0 })),
      profileOf(2, took(1, { responseBytes: 3_000_000_000, blockedMs: 12.5 })),
      // Stored by a release that did not know these.
      profileOf(3, took(9, { responseBytes: null, blockedMs: null })),
      profileOf(4, took(null, { state: 'running' })),
      profileOf(5, took(99, { method: 'POST' })),
      profileOf(6, took(99, { route: '/other' })),
      profileOf(7, took(99, { kind: 'profiler' })),
      profileOf(8, took(99)),
      profileOf(9, took(99, { startedAt: START - LOOKED_BACK_MS })),
    ]);
    const asked = { route: '/items/:id', method: 'GET' };
    expect(await storage().routePercentiles({ ...asked, before: START + 8 })).to.deep.equal({
      count: 3,
      p50Ms: 4,
      p95Ms: 9,
      queries: [2, 3],
      blockedMs: [0, 12.5],
      responseBytes: [500, 3_000_000_000],
    });
    const none = { count: 0, p50Ms: null, p95Ms: null, queries: null, blockedMs: null, responseBytes: null };
    expect(await storage().routePercentiles({ ...asked, before: START })).to.deep.equal({ ...none, count: 1, p50Ms: 99, p95Ms: 99, queries: [9, 9] }); // prettier-ignore
    expect(
      await storage().routePercentiles({ ...asked, route: `'; \0\ud800`, before: START + 8 }),
    ).to.deep.equal(none);
  });

  it('tells it along with the profile itself', async () => {
    await storage().write([
      profileOf(1, { durationMs: 4 }),
      profileOf(2, { durationMs: 0.1 + 0.2 }),
      profileOf(3),
      profileOf(4, { method: 'POST' }),
      profileOf(5, { route: null }),
      profileOf(6, { kind: 'profiler' }),
    ]);
    const found = async (token: string): Promise<unknown> =>
      (await storage().read(token, { routePercentiles: true }))?.routePercentiles;
    expect(await found('000003')).to.deep.equal(
      await storage().routePercentiles({ route: '/items/:id', method: 'GET', before: START + 3 }),
    );
    expect(await found('000003')).to.include({ count: 2, p50Ms: 0.1 + 0.2 });
    expect(await found('000004')).to.include({ count: 0, p50Ms: null, p95Ms: null, queries: null });
    expect([await found('000005'), await found('000006')]).to.deep.equal([null, null]);
    expect(await storage().read('000003')).to.not.have.property('routePercentiles');
  });

  it('looks back at so many requests of any route and no further', async () => {
    const others = Array.from({ length: LOOKED_BACK }, (_, i) => profileOf(i + 2, { route: '/other' }));
    await storage().write([profileOf(1), ...others]);
    const before = START + LOOKED_BACK + 2;
    const count = async (route: string): Promise<number> =>
      (await storage().routePercentiles({ route, method: 'GET', before })).count;
    expect([await count('/items/:id'), await count('/other')]).to.deep.equal([0, LOOKED_BACK]);
  });

  it('looks at the newest only, and says so', async () => {
    await storage().write(Array.from({ length: 6 }, (_, i) => profileOf(i + 1, { durationMs: i + 1 })));
    const found = await summarize({ most: 4 });
    expect(found).to.include({ looked: 4, newestOnly: true, totalMs: 3 + 4 + 5 + 6, from: START + 3 });
    expect(found.routes[0]?.count).to.equal(4);
    expect((await summarize({ most: 7 })).newestOnly).to.equal(false);
  });

  it('begins its steps with the oldest that it looked at', async () => {
    await storage().write([profileOf(5), profileOf(9)]);
    for (const asked of [0, START, START + 5]) {
      const { from, routes } = await summarize({ from: asked });
      expect(from).to.equal(START + 5);
      expect(routes[0]?.steps[0]?.count).to.equal(2);
    }
  });

  it('leaves out what lies beside the time asked for', async () => {
    await storage().write([profileOf(1), profileOf(2), profileOf(3)]);
    const { newest, count } = await one({ from: START + 2, until: START + 3 });
    expect([newest, count]).to.deep.equal(['000002', 1]);
  });

  it('gives the costliest routes and counts the others', async () => {
    const profiles = Array.from({ length: MOST_ROUTES + 3 }, (_, i) =>
      profileOf(i + 1, { route: `/r${i}`, durationMs: i + 1 }),
    );
    await storage().write(profiles);
    const { routes, more } = await summarize();
    expect([routes.length, more]).to.deep.equal([MOST_ROUTES, 3]);
    expect(routes[0]?.route).to.equal(`/r${MOST_ROUTES + 2}`);
  });
}
