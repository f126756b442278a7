import { expect } from 'chai';
import type { Express, Request } from 'express';
import type { RequestPanelData } from '../../app/panels/request/data.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

describe('what a host leaves on its requests', () => {
  let reads = 0;
  let last: Request;
  let context: Context;
  const keep = (opened: Context): void => {
    if (opened.kind === 'request') context = opened;
  };
  const ask = withFindingsApp(build, { onRequest: [keep] });

  function build(app: Express): void {
    app.use((req, _res, next) => {
      last = req;
      next();
    });
    app.get('/plain', (req, res) => {
      Object.assign(req, { session: { views: 1 }, user: { id: 7 } });
      res.send('x');
    });
    app.get('/accessor', (req, res) => {
      Object.defineProperty(req, 'session', { configurable: true, enumerable: true, get: () => ++reads });
      res.send('x');
    });
    app.get('/late', sessions(), (req, res) => {
      sessionOf(req).views = 1;
      res.send('x');
      sessionOf(req).cart = 2;
    });
    app.get('/none', (_req, res) => res.send('x'));
  }

  const heldBy = async (path: string) => {
    const { profile } = await ask(path);
    return (profile.panels.request?.data as RequestPanelData).sessionAndUser;
  };

  it('is read when the answer is over, and never by an accessor', async () => {
    expect(await heldBy('/plain')).to.deep.equal({ session: { views: 1 }, user: { id: 7 } });
    expect(await heldBy('/accessor')).to.deep.equal({ unread: ['session'] });
    expect(await heldBy('/none')).to.equal(null);
    expect(reads).to.equal(0);
  });

  it('is the session as it was saved, with what changed later named, and a mark instead of its id', async () => {
    const { mark, ...held } = (await heldBy('/late')) ?? {};
    expect(held).to.deep.equal({ session: { views: 1 }, late: ['cart'] });
    expect(mark).to.match(/^[0-9a-f]{8}$/);
  });

  it('is all that is kept of them: a context may outlive its request', async () => {
    await ask('/plain');
    const live = context.first('request')?.live;
    expect(live).to.not.equal(last);
    expect(Object.keys(live ?? {}).sort()).to.deep.equal(['app', 'session', 'user']);
  });
});
