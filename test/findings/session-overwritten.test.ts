import { expect } from 'chai';
import express, { type Request } from 'express';
import type { Finding } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';
import { withUpstream } from '../support/upstream.ts';
import { until } from '../support/waiting.ts';

describe('finding session-overwritten', () => {
  let inside = 0;
  let isSaved = false;

  const upstream = withUpstream((_req, res) => {
    void until(() => isSaved, 'the other one has saved').then(() => setTimeout(() => res.end('{}'), 30));
  });
  const priceOf = async (): Promise<string> => (await fetch(`${upstream()}/price`)).text();

  const ask = withFindingsApp((app) => {
    app.use(express.json(), sessions());
    app.post('/start', (req, res) => {
      sessionOf(req).cart = [{ id: 1 }];
      res.end();
    });
    const add = (req: Request): void => {
      const { id } = req.body as { id: number };
      sessionOf(req).cart = [...(sessionOf(req).cart as { id: number }[]), { id }];
    };
    app.post('/fast', async (req, res) => {
      inside++;
      await until(() => inside === 2, 'both have loaded the session');
      add(req);
      res.on('close', () => (isSaved = true)).json('added');
    });
    app.post('/slow', async (req, res) => {
      inside++;
      await until(() => isSaved, 'the other one has saved');
      add(req);
      res.json('added');
    });
    app.post('/calls', async (req, res) => {
      inside++;
      await priceOf();
      add(req);
      res.json('added');
    });
    app.post('/removes', async (req, res) => {
      inside++;
      await until(() => isSaved, 'the other one has saved');
      sessionOf(req).cart = [];
      res.json('emptied');
    });
  });

  const post = (path: string, id: number, cookie = '') =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify({ id }),
    });

  async function cookieOf(): Promise<string> {
    const answer = await fetch(`${ask.origin()}/start`, { method: 'POST' });
    return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  }

  /** Both requests at once, and what is found once both are stored. */
  async function foundIn(cookies: readonly [string, string], slow = '/slow') {
    [inside, isSaved] = [0, false];
    const asked = await Promise.all([post('/fast', 3, cookies[0]), post(slow, 2, cookies[1])]);
    const found = await Promise.all(
      asked.map(async ({ profile: { token } }) => {
        const page = JSON.parse(await ask.page(urls.profileJson(token))) as {
          profile: { findings: Finding[] };
        };
        return page.profile.findings.filter(({ rule }) => rule === 'session-overwritten');
      }),
    );
    return { found, tokens: asked.map(({ profile: { token } }) => token) };
  }

  it('names the field and the other request, in both', async () => {
    const cookie = await cookieOf();
    const { found, tokens } = await foundIn([cookie, cookie]);
    const sentences = found.map((list) =>
      list.map(({ sentence }) => sentence.replace(/(?<=least )[\d.,]+ m?s/, '9 ms')),
    );
    expect(sentences).to.deep.equal([
      [
        `POST /slow (${tokens[1]}) overwrote the session that this request saved: it had loaded the session at least 9 ms earlier, and what this request put into req.session.cart is lost`,
      ],
      [
        `This request overwrote the session that POST /fast (${tokens[0]}) saved: it had loaded the session at least 9 ms earlier, and what the other request put into req.session.cart is lost`,
      ],
    ]);
    expect(found[1]?.[0]).to.include({ broke: 'unseen', severity: 'bad', anchor: 'session' });
    expect(found[1]?.[0]?.place).to.match(/session-overwritten\.test\.ts:\d+$/);
  });

  it('names what the later one waited for, with the lines that led there', async () => {
    const cookie = await cookieOf();
    const { found } = await foundIn([cookie, cookie], '/calls');
    for (const [finding] of found) {
      expect(finding?.sentence).to.match(
        / earlier, then waited \d+\.\d ms for GET 127\.0\.0\.1:\d+\/price, and /,
      );
      expect(finding?.path, finding?.sentence).to.have.length(1);
      const [call = 0, handler = 0] = [finding?.place, ...(finding?.path ?? [])].map((line) =>
        Number(/^test\/findings\/session-overwritten\.test\.ts:(\d+)$/.exec(line ?? '')?.[1]),
      );
      expect(call).to.be.above(0).and.below(handler);
    }
  });

  it('ignores two sessions, and a request that only removes', async () => {
    const cookie = await cookieOf();
    expect((await foundIn([cookie, await cookieOf()])).found).to.deep.equal([[], []]);
    expect((await foundIn([cookie, cookie], '/removes')).found).to.deep.equal([[], []]);
  });
});
