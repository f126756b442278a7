import { Agent, get } from 'node:http';
import { expect } from 'chai';
import type { HttpClientData } from '../../app/panels/http-client/data.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { withUpstream } from '../support/upstream.ts';
import { besideOf } from '../support/beside.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const CALL = {
  method: 'GET',
  url: 'https://rates.example/v2',
  status: 200,
  error: null,
  startMs: 0,
  caller: null,
};

describe('finding slow-call', () => {
  const upstream = withUpstream((req, res) => {
    if (req.url === '/trickle') {
      res.write('{');
      setTimeout(() => res.end('}'), 150);
    } else setTimeout(() => res.end('{}'), req.url === '/slow' ? 150 : 5);
  });
  const callOf = ({ profile }: Asked) => (profile.panels.http_client?.data as HttpClientData).calls[0]!;
  const agent = new Agent({ maxSockets: 1, keepAlive: true });
  after(() => agent.destroy());
  const ask = withFindingsApp((app) => {
    app.get('/call/:path', async (req, res) => {
      await (await fetch(`${upstream()}/${req.params.path}`)).text();
      res.send('done');
    });
    app.get('/socket/:name', async (req, res) => {
      await new Promise<void>((done, failed) => {
        get(`${upstream()}/slow`, { agent }, (answer) => answer.resume().once('end', done)).once(
          'error',
          failed,
        );
      });
      res.send(req.params.name);
    });
    app.get('/three', async (_req, res) => {
      const slow = async (): Promise<string> => (await fetch(`${upstream()}/slow`)).text();
      res.json(await Promise.all([slow(), slow(), slow()]));
    });
    app.get('/beside', async (_req, res) => {
      const began = performance.now();
      const answer = await (await fetch(`${upstream()}/slow`)).text();
      // A fifth of the request, however long it took.
      await new Promise((done) => setTimeout(done, 4 * (performance.now() - began)));
      res.send(answer);
    });
  });

  it('says whether the response started late or took long to download', async () => {
    const isFound = ({ of }: Asked): boolean => of('slow-call').length > 0;
    const [slow] = (await ask.when('/call/slow', isFound)).of('slow-call');
    expect(slow).to.include({ label: 'slow call', severity: 'warn', panel: 'http_client', anchor: 'c1' });
    expect(slow?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/slow took \d+\.\d+ m?s \(<?\d+ % of the request\), \d+\.\d+ m?s of it waiting for the response$/,
    );
    const [trickle] = (
      await ask.when('/call/trickle', (asked) => {
        const { durationMs, headersMs } = callOf(asked);
        return isFound(asked) && (durationMs ?? 0) > 3 * (headersMs ?? 0);
      })
    ).of('slow-call');
    expect(trickle?.sentence).to.contain(' of it downloading the response');
  });

  it('begins when the code asks, and names the request that uses the only socket of the agent', async () => {
    let sentence = '';
    // On a machine with other work, the requests may come one after another.
    await until(async () => {
      const asked = await Promise.all(['a', 'b', 'c', 'd'].map((name) => ask(`/socket/${name}`)));
      const last = asked.reduce((a, b) => ((callOf(a).sentMs ?? 0) > (callOf(b).sentMs ?? 0) ? a : b));
      const [holder] = callOf(last).heldBy ?? [];
      sentence = last.of('slow-call')[0]?.sentence ?? '';
      return (
        asked.some(({ profile }) => profile !== last.profile && profile.token === holder?.profile) &&
        sentence.includes('free connection')
      );
    }, 'a call waits for a socket that another request uses');
    expect(sentence).to.match(
      / of it waiting for a free connection of its client, held by GET \/socket\/[a-d] \(1 connection, test\/findings\/slow-call\.test\.ts:\d+\)/,
    );
  });

  it('is one finding for calls that ran side by side', async () => {
    const areSlow = ({ of }: Asked): boolean => of('slow-call')[0]?.sentence.includes(' 2 other ') === true;
    const found = (await ask.when('/three', areSlow)).of('slow-call');
    expect(found).to.have.length(1);
    expect(found[0]?.sentence).to.match(/ while 2 other slow calls ran$/);
  });

  it('does not accuse the other service if another request blocked the event loop for most of it', () => {
    const call = { ...CALL, durationMs: 200, headersMs: 199 };
    const severities = (blockedMs: number): string[] => {
      const kept = { http_client: { calls: [call] } as unknown as HttpClientData };
      const owners = [
        { ...call, kind: 'out' as const },
        { kind: 'blocked' as const, global: true as const, startMs: 0, durationMs: blockedMs },
      ];
      return draftsOf('slow-call', kept, { durationMs: 250 }, besideOf(owners, { totalMs: 250 })).map(
        ({ severity }) => severity,
      );
    };
    expect(severities(180)).to.deep.equal([]);
    expect(severities(80)).to.deep.equal(['warn']);
  });

  it('names the step that opening the connection took', () => {
    const connection = { lookupMs: 422, connectMs: 10, tlsMs: 12 };
    const call = { ...CALL, durationMs: 460, headersMs: 455, connection };
    const kept = { http_client: { calls: [call] } as unknown as HttpClientData };
    expect(draftsOf('slow-call', kept, { durationMs: 500 })[0]?.sentence).to.equal(
      'GET rates.example/v2 took 460.0 ms (92 % of the request), 422.0 ms of it looking up the name',
    );
  });

  it('ignores a quick call, and one that is a small share of the request', async () => {
    for (const path of ['/call/quick', '/beside']) {
      const { of, profile } = await ask.when(
        path,
        (asked) => path === '/beside' || (callOf(asked).durationMs ?? 0) < 100,
      );
      expect(profile.panels.http_client?.summary?.count).to.equal(1);
      expect(of('slow-call'), path).to.deep.equal([]);
    }
  });
});
