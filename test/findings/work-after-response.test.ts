import { expect } from 'chai';
import { AsyncResource } from 'node:async_hooks';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding, Profiler } from '../../app/index.ts';
import type { Kept } from '../../app/findings/shared/kept.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding work-after-response', () => {
  let profiler: Profiler;
  let partner: Server;
  const call = async (): Promise<void> => {
    await (await fetch(`http://127.0.0.1:${(partner.address() as AddressInfo).port}/mail`)).text();
  };
  const ask = withFindingsApp((app, made) => {
    profiler = made;
    app.get('/later', (_req, res) => {
      // Not earlier: a busy machine may note the end of the response after a timer that began with it.
      const later = AsyncResource.bind(() => setTimeout(() => void call(), 30));
      res.once('close', later).send('x');
    });
    app.get('/beside', (_req, res) => {
      void call();
      res.send('x');
    });
    app.get('/unread', async (_req, res) => {
      const { status } = await fetch(`http://127.0.0.1:${(partner.address() as AddressInfo).port}/large`);
      res.send(String(status));
    });
    app.get('/within', async (_req, res) => {
      await call();
      res.send('x');
    });
  });

  before(async () => {
    partner = createServer(({ url }, res) =>
      res.end(url === '/large' ? Buffer.alloc(2_000_000) : 'y'),
    ).listen(0, '127.0.0.1');
    await new Promise((done) => partner.once('listening', done));
  });
  after(() => {
    partner.closeAllConnections();
    partner.close();
  });

  async function findingsOf({ profile }: Asked) {
    const found = await profiler.profiles.read(profile.token);
    return found?.profile.findings.filter(({ rule }) => rule === 'work-after-response') ?? [];
  }

  it('counts work that started after the response', async () => {
    const asked = await ask('/later');
    let finding: Finding | undefined;
    // A profile is written again when nothing has come for a while.
    await until(async () => {
      [finding] = await findingsOf(asked);
      return finding !== undefined;
    }, 'the profile is written again');
    expect(finding).to.include({ label: 'after the response', severity: 'info', panel: 'http_client' });
    expect(finding?.sentence).to.match(
      /^1 outgoing call started after the response, the last one \S+ m?s later$/,
    );
  });

  it('counts work that the response did not wait for', async () => {
    const asked = await ask('/beside');
    let finding: Finding | undefined;
    await until(async () => {
      [finding] = await findingsOf(asked);
      return finding !== undefined;
    }, 'the profile says so');
    expect(finding?.sentence).to.equal('1 outgoing call had not finished when the response was sent');
    expect(finding?.place).to.match(/work-after-response\.test\.ts:\d+$/);
  });

  it('names a body that was not read', async () => {
    const [finding] = await findingsOf(await ask('/unread'));
    expect(finding?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/large returned 200, but its body was not read to the end before the response was sent/,
    );
    expect(finding?.fix).to.contain('response.body.cancel()');
  });

  it('ignores work that the response waited for', async () => {
    const asked = await ask('/within');
    await sleep(600);
    expect(await findingsOf(asked)).to.deep.equal([]);
  });

  it('says what went on after the connection had closed', () => {
    const queries = [800, 1100, 1200, 1300].map((startMs) => ({ startMs, durationMs: 2, caller: 'a.ts:9' }));
    const kept = { request: {}, database: { queries, statements: [] } } as unknown as Pick<Kept, 'request'>;
    const head = { durationMs: 1000, outcome: 'aborted' } as ProfileHead;
    expect(draftsOf('work-after-response', kept, head)[0]).to.include({
      severity: 'warn',
      sentence: '3 queries started after the connection had closed, the last one 300.0 ms later',
      place: 'a.ts:9',
    });
  });

  it('ignores settings of a connection that the pool opens beside', () => {
    const open = (sql: string) =>
      draftsOf(
        'work-after-response',
        {
          request: {},
          database: {
            statements: [{ sql }],
            queries: [{ startMs: 1, durationMs: 90, statement: 0, caller: null }],
          },
        },
        { durationMs: 20, outcome: 'finished' },
      );
    expect(open("set time zone 'UTC'")).to.deep.equal([]);
    expect(open('select 1')).to.have.length(1);
  });
});
