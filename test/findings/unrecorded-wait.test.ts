import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { besideOf } from '../support/beside.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding unrecorded-wait', () => {
  const ask = withFindingsApp((app) => {
    app.get('/pause', async function pause(_req, res) {
      await sleep(260);
      res.send('x');
    });
  });

  it('names the function that waited', async () => {
    // On a busy machine the request takes longer, or the event loop has work meanwhile.
    const isAlone: Parameters<typeof ask.when>[1] = ({ profile, of }) =>
      (profile.durationMs ?? 0) < 400 && of('unrecorded-wait').length > 0;
    const [finding] = (await ask.when('/pause', isAlone)).of('unrecorded-wait');
    expect(finding).to.include({ label: 'unrecorded wait', severity: 'info', panel: 'timeline' });
    expect(finding?.sentence).to.match(
      /^pause waited [23]\d\d\.\d ms \(\d+ %.*\) while nothing that is recorded ran: a pause of your code \(setTimeout\), or work that is not observed$/,
    );
    expect(finding?.place).to.match(/unrecorded-wait\.test\.ts:\d+$/);
  });

  describe('of what else is recorded', () => {
    const kept = {
      request: { headers: [], response: { headersAtMs: 500, contentType: 'text/html' } },
      routing: {
        layers: [
          {
            name: 'slow',
            kind: 'handler',
            pattern: '/',
            method: 'GET',
            source: 'a.ts:1',
            depth: 0,
            outcome: 'running',
            startMs: 1,
            durationMs: null,
            settledMs: null,
            nextMs: null,
          },
        ],
      },
    };
    const head = { durationMs: 510, outcome: 'finished' } as ProfileHead;
    const found = (spans: Parameters<typeof besideOf>[0], options: object = {}, more: object = {}) =>
      draftsOf(
        'unrecorded-wait',
        { ...kept, ...more },
        head,
        besideOf([{ kind: 'app', isLayer: true, startMs: 1, durationMs: 509 }, ...spans], {
          totalMs: 510,
          ...options,
        }),
      );

    it('counts no wait for a call, a query that waited for the pool, or a blocked event loop', () => {
      expect(found([])[0]?.sentence).to.match(/^slow waited 509\.0 ms \(/);
      for (const kind of ['out', 'connection', 'blocked'] as const)
        expect(found([{ kind, startMs: 100, durationMs: 300 }]), kind).to.deep.equal([]);
    });

    it('counts no wait while the event loop had work', () => {
      expect(found([], { loopIdleMs: 51 })).to.deep.equal([]);
      expect(found([], { loopIdleMs: 459 })).to.have.length(1);
    });

    it('counts no wait for a CPU, and none for the first connection of a pool', () => {
      expect(found([], { queuedMs: 320 })).to.deep.equal([]);
      expect(found([], { queuedMs: 20 })).to.have.length(1);
      const query = { kind: 'db', startMs: 400, durationMs: 20 } as const;
      const database = (first: boolean) => ({
        database: { queries: [{ startMs: 400, ...(first ? { first } : {}) }] },
      });
      expect(found([query], {}, database(true))).to.deep.equal([]);
      expect(found([query], {}, database(false))).to.have.length(1);
    });

    it('counts no long poll, and no work on a thread of the pool', () => {
      const routing = (pattern: string) => ({ routing: { ...kept.routing, route: { pattern } } });
      expect(found([], {}, routing('/orders/:id/poll'))).to.deep.equal([]);
      expect(found([], {}, routing('/orders/:id'))).to.have.length(1);
      const runtime = (cpuUserMs: number) => ({
        runtime: { cpuUserMs, cpuSystemMs: 0, loopUtilization: 0.02 },
      });
      expect(found([], {}, runtime(300))).to.deep.equal([]);
      expect(found([], {}, runtime(30))).to.have.length(1);
      // A hash of 100 ms does not explain a wait of 500 ms.
      expect(found([], {}, runtime(110))).to.have.length(1);
    });

    it('leaves the pauses of a retried call to its finding', () => {
      const call = { method: 'GET', url: 'http://a.test/', durationMs: 2, error: null, status: 503 };
      const calls = (url: string) => ({
        http_client: {
          calls: [
            { ...call, startMs: 10 },
            { ...call, url, startMs: 490 },
          ],
        },
      });
      expect(found([], {}, calls(call.url))).to.deep.equal([]);
      expect(found([], {}, calls('http://b.test/'))).to.have.length(1);
    });

    it('adds up several waits', () => {
      expect(found([{ kind: 'db', startMs: 200, durationMs: 50 }])[0]?.sentence).to.contain('459.0 ms');
    });

    it('ignores a large upload and an event stream', () => {
      const request = (more: object) => ({ request: { ...kept.request, ...more } });
      expect(found([], {}, request({ body: { bytes: 1e6 } }))).to.deep.equal([]);
      const stream = { response: { headersAtMs: 500, contentType: 'text/event-stream' } };
      expect(found([], {}, request(stream))).to.deep.equal([]);
    });
  });
});
