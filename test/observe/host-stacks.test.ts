/** The stacks of a host are the same with and without the profiler: no frame of ours, and none pushed out. */
import { expect } from 'chai';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { createProfiler } from '../../app/index.ts';

const express4 = createRequire(import.meta.url)('express-4') as typeof express;

type Stacks = Record<string, string[]>;

/** What the host sees at each place of it. */
async function stacksOf(make: typeof express, watched: boolean): Promise<Stacks> {
  const profiler = watched ? createProfiler({ toolbar: false }) : null;
  profiler?.observe('express', make);
  const stacks: Stacks = {};
  const note = (name: string, error: Error): void => {
    // Those of Node.js tell that something is bound to the request.
    stacks[name] = (error.stack ?? '')
      .split('\n')
      .filter((line) => line.includes(' at ') && !line.includes('(node:'));
  };
  const app = make();
  if (profiler !== null) app.use(profiler.watch, profiler.pages);
  const outer = make.Router();
  const inner = make.Router();
  app.use('/a', outer);
  outer.use('/b', inner);
  inner.get('/seen', (_req, res) => {
    note('seen in a handler', new Error());
    res.end();
  });
  inner.get('/thrown', () => {
    throw new Error('thrown');
  });
  inner.get('/passed', (_req, _res, next) => next(new Error('passed')));
  inner.get('/rejected', (async () => {
    await Promise.resolve();
    throw new Error('rejected');
  }) as express.RequestHandler);
  inner.post('/json', express.json(), (_req, res) => void res.end());
  const only = (_error: unknown, _req: Request, _res: Response, next: NextFunction): void => next(_error);
  inner.use(only);
  app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
    note(error.message, error);
    note(`handling ${error.message}`, new Error());
    res.end();
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a/b`;
  // Twice, because the first request of an application makes us look at it.
  for (const path of ['/seen', '/seen', '/thrown', '/passed', ...(make === express ? ['/rejected'] : [])])
    await (await fetch(url + path)).text();
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":' };
  await (await fetch(`${url}/json`, post)).text();
  server.close();
  server.closeAllConnections();
  await profiler?.close();
  return stacks;
}

/** What lies outside of the routers: the profiler is mounted there, as any middleware is. */
function inside(frames: readonly string[]): string[] {
  const end = frames.findIndex((frame) =>
    /app[\\/](?:middleware|profiler|compose)[\\/]|Server\.emit/.test(frame),
  );
  return end === -1 ? [...frames] : frames.slice(0, end);
}

for (const [name, make] of [
  ['Express 5', express],
  ['Express 4', express4],
] as const)
  describe(`the stacks of a host with ${name}`, () => {
    const { stackTraceLimit } = Error;
    afterEach(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });

    it('are the same with the profiler, line by line', async () => {
      Error.stackTraceLimit = 10;
      const bare = await stacksOf(make, false);
      const watched = await stacksOf(make, true);
      expect(Object.keys(watched)).to.deep.equal(Object.keys(bare)).and.to.have.length.greaterThan(5);
      for (const [place, frames] of Object.entries(bare)) expect(watched[place], place).to.deep.equal(frames);
    });

    it('hold no frame of ours up to the middleware that mounts it, and none at all once the error came by', async () => {
      Error.stackTraceLimit = 100;
      const bare = await stacksOf(make, false);
      const watched = await stacksOf(make, true);
      const all = inside(watched['seen in a handler'] ?? []);
      expect(all.length).to.be.greaterThan(20);
      expect(bare['seen in a handler']?.slice(0, all.length)).to.deep.equal(all);
      for (const place of ['thrown', 'passed', 'Unexpected end of JSON input'])
        expect(
          watched[place]?.filter(
            (frame) => /app[\\/](?!node_modules)/.test(frame) && !frame.includes('node_modules'),
          ),
          place,
        ).to.deep.equal([]);
    });
  });
