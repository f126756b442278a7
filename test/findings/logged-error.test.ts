import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { inLibrary } from '../support/in-library.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding logged-error', () => {
  withQuietConsole();
  const ask = withFindingsApp((app) => {
    app.get('/told', () => {
      throw Object.assign(new Error('no more tea'), { status: 418 });
    });
    // A library's handler of errors logs what it is given, as express-winston's does.
    app.use('/told', inLibrary("(error, req, res, next) => { console.error(`error: ${error.message} {}`); next(error); }")); // prettier-ignore
    app.get('/swallowed', (_req, res) => {
      console.error(new TypeError('no such thing'));
      console.error('and another');
      res.send('fine');
    });
    app.get('/thrown', () => {
      console.error('it broke');
      throw new Error('it broke');
    });
    app.get('/secret', (req, res) => {
      console.error(`refused ${req.get('authorization') ?? ''}`);
      res.send('fine');
    });
    app.get('/warned', (_req, res) => {
      console.warn('careful');
      res.send('fine');
    });
  });

  it('quotes the first error, and the response status', async () => {
    const [finding] = (await ask('/swallowed')).of('logged-error');
    expect(finding).to.include({ label: 'logged error', severity: 'warn', panel: 'logs', anchor: 'l1' });
    expect(finding?.sentence).to.match(/^2 errors were logged, but the response was 200; first: TypeError: no such thing/); // prettier-ignore
    expect(finding?.place).to.match(/logged-error\.test\.ts:\d+$/);
  });

  it('has the line of the error that a library logged', async () => {
    const { of, profile } = await ask('/told');
    const [finding] = of('logged-error');
    expect(finding?.sentence).to.match(/the response was 418: error: no more tea/);
    expect(JSON.stringify(profile)).to.match(/node_modules\/some-framework\/handler\.js:1/);
    expect(finding?.place).to.match(/^test\/findings\/logged-error\.test\.ts:\d+$/);
  });

  it('leaves the line of an access log alone where the response is a 4xx', () => {
    const found = (message: string, status: number): number => {
      const line = {
        level: 'error' as const,
        channel: 'console',
        message,
        context: null,
        caller: null,
        atMs: 1,
      };
      return draftsOf(
        'logged-error',
        { logs: { lines: [line], dropped: 0 } },
        { status, method: 'GET', url: '/none?a=1' },
      ).length;
    };
    // SvelteKit, and access logs.
    for (const message of ['\n[404] GET /none', 'GET /none - 404 in 3 ms', 'HTTP GET "/none": 404'])
      expect(
        [404, 400, 200].map((status) => found(message, status)),
        message,
      ).to.deep.equal([0, 1, 1]);
    expect(found('GET /nones failed with 404', 404)).to.equal(1);
  });

  it('masks a secret that the request contained', async () => {
    const { of, profile } = await ask('/secret', {
      headers: { authorization: 'Bearer 5ecret-of-the-request' },
    });
    expect(of('logged-error')[0]?.sentence).to.match(/the response was 200: refused /);
    expect(JSON.stringify(profile)).not.to.contain('5ecret-of-the-request');
  });

  it('leaves what Express prints alone where the response says it, or the profile', () => {
    const line = {
      level: 'error' as const,
      channel: 'console',
      message: 'Error: gone',
      context: null,
      caller: 'node_modules/express/lib/application.js:647',
      atMs: 1,
    };
    const logs = { lines: [line], dropped: 0 };
    const found = (status: number): number => draftsOf('logged-error', { logs }, { status }).length;
    expect([404, 500, 200].map(found)).to.deep.equal([0, 0, 1]);
  });

  it('ignores warnings, and errors that the response reports', async () => {
    for (const path of ['/warned', '/thrown'])
      expect((await ask(path)).of('logged-error'), path).to.deep.equal([]);
  });
});
