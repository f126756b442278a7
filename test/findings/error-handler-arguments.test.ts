import { expect } from 'chai';
import express from 'express';
import hindsight from '../../app/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { close, listen } from '../support/listen.ts';
import { finalProfile } from '../support/final-profile.ts';

type Handler = express.RequestHandler | express.ErrorRequestHandler;

describe('finding error-handler-arguments', () => {
  /** The findings of a request that fails, in an application with this error handler. */
  async function findingsWith(onError: Handler): Promise<Profile['findings']> {
    const app = express();
    app.set('env', 'test');
    const profiler = hindsight(app, { warn: () => undefined });
    app.get('/fails', () => {
      throw new Error('no');
    });
    app.use(onError);
    const { server, origin } = await listen(app);
    const { findings } = await finalProfile(profiler, await fetch(`${origin}/fails`));
    await close(server, profiler);
    return findings.filter(({ rule }) => rule === 'error-handler-arguments');
  }

  it('names the function, its number of parameters and where it was registered', async () => {
    const [finding] = await findingsWith(function onError(_error: unknown, _req: unknown, res: unknown) {
      (res as express.Response).send('sorry');
    });
    expect(finding).to.include({ label: 'error handler', severity: 'bad', broke: 'response' });
    expect(finding?.sentence).to.equal(
      'onError was not called with the error: it has 3 parameters, and Express takes only functions with 4 parameters as error handlers',
    );
    expect(finding?.place).to.match(/error-handler-arguments\.test\.ts:\d+$/);
  });

  it('ignores middleware, and error handlers that are ones', async () => {
    const handlers: Handler[] = [
      (_req: express.Request, _res: express.Response, next: express.NextFunction) => {
        next();
      },
      (_error: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
        res.status(500).send('sorry');
      },
    ];
    for (const handler of handlers) expect(await findingsWith(handler)).to.deep.equal([]);
  });
});
