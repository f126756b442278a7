/**
 * The stacks that a host of Express 5 and of Express 4 sees, bare and watched, with Node's limit of frames, as JSON. In a process of
 * its own: a subscriber of the router's channel that another test left would change them.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { createProfiler } from '../../app/index.ts';
import { express4 } from './express-versions.ts';

type Stacks = Record<string, string[]>;

/** What the host sees at each place of it. */
async function stacksOf(make: typeof express, watched: boolean): Promise<Stacks> {
  const profiler = watched ? createProfiler({ toolbar: false }) : null;
  profiler?.observe('express', make);
  const stacks: Stacks = {};
  const note = (name: string, error: Error): void => {
    // A frame of Node.js 20, which tells only that something is bound to the request.
    stacks[name] = (error.stack ?? '')
      .split('\n')
      .filter((line) => line.includes(' at ') && !line.includes('process.callbackTrampoline'));
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
  inner.post('/posted', express.json(), (_req, res) => {
    note('seen in a handler of a request with a body', new Error());
    res.end();
  });
  inner.post('/caught', (req, res) => {
    express.json()(req, res, (error: unknown) => {
      note('caught behind a body parser', error as Error);
      res.end();
    });
  });
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
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  await (await fetch(`${url}/json`, { ...post, body: '{"a":' })).text();
  await (await fetch(`${url}/caught`, { ...post, body: '{"a":' })).text();
  await (await fetch(`${url}/posted`, { ...post, body: '{"a":1}' })).text();
  server.close();
  server.closeAllConnections();
  await profiler?.close();
  return stacks;
}

async function pairOf(make: typeof express): Promise<{ bare: Stacks; watched: Stacks }> {
  return { bare: await stacksOf(make, false), watched: await stacksOf(make, true) };
}

/** By version of Express. */
export type HostStacks = Record<'5' | '4', { bare: Stacks; watched: Stacks }>;

const found: HostStacks = { 5: await pairOf(express), 4: await pairOf(express4) };
process.stdout.write(JSON.stringify(found));
