import { expect } from 'chai';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Profiler } from '../../app/index.ts';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding work-after-response', () => {
  let profiler: Profiler;
  let partner: Server;
  const call = async (): Promise<void> => {
    await (await fetch(`http://127.0.0.1:${(partner.address() as AddressInfo).port}/mail`)).text();
  };
  const ask = withFindingsApp((app, made) => {
    profiler = made;
    app.get('/later', (_req, res) => {
      res.send('x');
      setTimeout(() => void call(), 30);
    });
    app.get('/within', async (_req, res) => {
      await call();
      res.send('x');
    });
  });

  before(async () => {
    partner = createServer((_req, res) => res.end('y')).listen(0, '127.0.0.1');
    await new Promise((done) => partner.once('listening', done));
  });
  after(() => {
    partner.closeAllConnections();
    partner.close();
  });

  async function findingsLater(path: string) {
    const { profile } = await ask(path);
    // A profile is written again when nothing has come for a while.
    await sleep(600);
    const found = await profiler.profiles.read(profile.token);
    return found?.profile.findings.filter(({ rule }) => rule === 'work-after-response') ?? [];
  }

  it('counts what began when the answer was out', async () => {
    const [finding] = await findingsLater('/later');
    expect(finding).to.include({ label: 'after the answer', severity: 'info', panel: 'http_client' });
    expect(finding?.sentence).to.match(
      /^1 outgoing call began after the answer was out, the last \S+ ms later$/,
    );
  });

  it('says nothing of what the answer waited for', async () => {
    expect(await findingsLater('/within')).to.deep.equal([]);
  });
});
