import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Kept } from '../../app/findings/shared/kept.ts';
import type { Finding } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding read-late', () => {
  const ask = withFindingsApp((app) => {
    app.get('/', (_req, res) => res.send('quick'));
  });

  it('says that the loop was blocked before the request was read, also if no request ran', async () => {
    await ask('/');
    const { port, hostname } = new URL(ask.origin());
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const blocking = setInterval(() => {
      // Sent at once, and read when the loop goes on.
      socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
      const end = performance.now() + 320;
      while (performance.now() < end);
    }, 700);
    let finding: Finding | undefined;
    await until(async () => {
      const [head] = (await once(socket, 'data')) as [Buffer];
      const [, token = ''] = /^x-debug-token: (\w+)/im.exec(head.toString()) ?? [];
      const text = await ask.page(urls.profileJson(token));
      const { findings } = (JSON.parse(text) as { profile: { findings: Finding[] } }).profile;
      finding = findings.find(({ rule }) => rule === 'read-late');
      // Compiling, or other work of the machine, may block it, too.
      return finding?.place !== undefined;
    }, 'a request was read late').finally(() => {
      clearInterval(blocking);
      socket.destroy();
    });
    expect(finding).to.include({ label: 'read late', panel: 'runtime', anchor: 'before' });
    expect(finding?.sentence).to.match(
      /^This request may have waited up to \d+\.\d+ ms before it was read: the event loop was blocked by a timer \(setInterval\), outside of requests$/,
    );
    expect(finding?.place).to.match(/read-late\.test\.ts:\d+$/);
  });

  it('names the request that blocked it, and ignores a moment', () => {
    const sentenceOf = (before: Kept['runtime']['before']) =>
      draftsOf('read-late', { runtime: { before } as Kept['runtime'] }, { token: 'a' })[0]?.sentence;
    const by = { profile: 'b12345', what: 'GET /reports', where: 'buildReport' };
    expect(sentenceOf({ durationMs: 80, by })).to.match(
      /blocked by GET \/reports \(b12345\), in buildReport$/,
    );
    expect(sentenceOf({ durationMs: 40, by })).to.equal(undefined);
    // Hindsight stores the first request of a process for a while.
    expect(sentenceOf({ durationMs: 250 })).to.equal(undefined);
    expect(sentenceOf({ durationMs: 250, by: { ...by, profile: 'a' } })).to.equal(undefined);
    expect(sentenceOf(undefined)).to.equal(undefined);
  });
});
