import { expect } from 'chai';
import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Profile } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';

describe('finding wrong-length', () => {
  const text = 'Für Rückfragen';
  const ask = withFindingsApp((app) => {
    app.get('/characters', (_req, res) => {
      res.set('Content-Length', String(text.length)).set('connection', 'close').end(text);
    });
    app.get('/encoded', (_req, res) => {
      res.set('Content-Encoding', 'br').json({ list: 'x'.repeat(100) });
    });
    app.get('/compressed', (_req, res) => {
      const body = gzipSync(JSON.stringify({ list: 'x'.repeat(900) }));
      res.set('Content-Encoding', 'gzip').type('json').send(body);
    });
    app.get('/short', (_req, res) => {
      res.set('Content-Encoding', 'gzip').json({ page: 1 });
    });
    app.get('/bytes', (_req, res) => res.send(text));
  });

  it('names both numbers', async () => {
    const [finding] = (await ask('/characters')).of('wrong-length');
    expect(finding).to.include({
      label: 'wrong length',
      sentence: 'Content-Length is 14, but the body has 16 bytes: clients cut it off or wait for the rest',
    });
    expect(finding?.place).to.match(/wrong-length\.test\.ts:\d+$/);
  });

  /** A client such as `fetch` fails to decode such a response. */
  async function encodingOf(path: string) {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(`${ask.origin()}${path}`, resolve).on('error', reject);
    });
    response.resume();
    const token = String(response.headers['x-debug-token']);
    let profile: Profile | undefined;
    await until(async () => {
      ({ profile } = JSON.parse(await ask.page(urls.profileJson(token))) as { profile: Profile });
      return profile.state === 'final';
    }, 'the profile is final');
    return profile?.findings.find(({ rule }) => rule === 'wrong-length');
  }

  it('names an encoding that the body does not have', async () => {
    const finding = await encodingOf('/encoded');
    expect(finding).to.include({
      label: 'wrong encoding',
      sentence: 'Content-Encoding is br, but the body is not compressed: clients fail to decode it',
    });
    expect(finding?.place).to.match(/wrong-length\.test\.ts:\d+$/);
    expect((await encodingOf('/short'))?.label).to.equal('wrong encoding');
    expect(await encodingOf('/compressed')).to.equal(undefined);
  });

  it('ignores the right length, and a response without a body', async () => {
    expect((await ask('/bytes')).of('wrong-length')).to.deep.equal([]);
    expect((await ask('/bytes', { method: 'HEAD' })).of('wrong-length')).to.deep.equal([]);
  });
});
