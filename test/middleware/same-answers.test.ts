/**
 * An application answers the same, byte by byte, with the profiler as without: test/support/answering-host.mjs is run both ways.
 * What is not the same, and can't be: the token headers, frames of the profiler in stacks, `res.writeHead` read back
 * after it was replaced, and one of the ten listeners for `close`.
 */
import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual, promisify } from 'node:util';
import { expect } from 'chai';
import express, { type Request } from 'express';
import { createProfiler, hindsight } from '../../app/index.ts';
import { withBuild } from '../support/build.ts';
import { express4 } from '../support/express-versions.ts';
import { close, listen } from '../support/listen.ts';

const run = promisify(execFile);
const HOST = 'test/support/answering-host.mjs';
const MARK = '\n--- results\n';

async function answers(mode: 'plain' | 'watched'): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await run(process.execPath, [HOST, mode], { maxBuffer: 1e8 });
  const [printed, results = '{}'] = stdout.split(MARK);
  const failures = stderr
    .replace(/\(node:\d+\)/g, '')
    .split('\n')
    .filter((line) => !/^\s+at /.test(line));
  return { ...(JSON.parse(results) as Record<string, unknown>), stdout: printed, stderr: failures };
}

describe('an application that is watched', () => {
  withBuild();

  it('answers, warns, fails and writes as it does by itself', async () => {
    const [plain, watched] = await Promise.all([answers('plain'), answers('watched')] as const);
    expect(Object.keys(plain).length).to.be.above(140);
    expect(plain['GET /string HTTP/1.1']).to.have.nested.property('[0]').that.includes('\r\n\r\ntext');
    const differs = (name: string): boolean => !isDeepStrictEqual(watched[name], plain[name]);
    const names = Object.keys({ ...plain, ...watched }).filter(differs);
    const only = (of: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, of[name]]));
    expect(only(watched)).to.deep.equal(only(plain));
  });

  it('answers and is recorded also where its responses are frozen', async () => {
    const profiler = createProfiler();
    const app = express();
    Object.defineProperty(app.response, 'end', { value: ServerResponse.prototype.end });
    Object.freeze(app.response);
    app.use(profiler.watch, profiler.pages);
    app.get('/', (_req, res) => void res.send('frozen'));
    const { server, origin } = await listen(app);
    const answer = await fetch(origin);
    expect([answer.status, await answer.text()]).to.deep.equal([200, 'frozen']);
    const json = await fetch(`${origin}/_profiler/${answer.headers.get('x-debug-token')}.json`);
    expect(await json.text()).to.include('frozen');
    await close(server, profiler);
  });

  it('crashes with the line that threw, not with ours', async () => {
    const crash = async (begin: string): Promise<string> => {
      const program = `
        import express from 'express';
        import { hindsight } from 'express-hindsight';
        const app = express();
        ${begin}
        app.get('/', (_req, res) => {
          res.send('sent');
          process.nextTick(() => res.setHeader('x-late', '1'));
        });
        app.listen(0, '127.0.0.1', function () { fetch('http://127.0.0.1:' + this.address().port); });`;
      const failed: unknown = await run(process.execPath, ['--input-type=module', '-e', program]).catch(
        (error: unknown) => error,
      );
      const [excerpt] = /^node:_http_outgoing:\d+\n.*\n/m.exec((failed as { stderr: string }).stderr) ?? [];
      return excerpt ?? String((failed as Error).message);
    };
    expect(await crash('hindsight(app);')).to.equal(await crash(''));
  });

  it('answers also what was made by hand, and has no socket', async () => {
    const profiler = createProfiler({ warn: () => undefined });
    const app = express();
    app.use(profiler.watch);
    app.get('/', (_req, res) => void res.send('by hand'));
    const req = Object.assign(new IncomingMessage(undefined as unknown as Socket), {
      method: 'GET',
      url: '/',
    });
    req.push(null);
    const res = new ServerResponse(req);
    const sent = new PassThrough();
    res.assignSocket(sent as unknown as Socket);
    app(req, res);
    await once(res, 'finish');
    await profiler.close();
    sent.end();
    expect(await text(sent)).to.match(/^HTTP\/1.1 200 OK\r\n[^]*by hand$/);
  });

  it('sends each line of a list of headers, though no other header is set', async () => {
    const lists: [string, unknown[]][] = [
      ['flat', ['X-A', '1', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-B', '3']],
      ['pairs', [['X-A', '1'], ['Set-Cookie', ['a=1', 'b=2']], ['Set-Cookie', 'c=3']]],
      ['odd', ['X-A', '1', 'X-B']],
      ['proxied', [['x-debug-token', 'other'], ['Set-Cookie', 'a=1'], ['Set-Cookie', 'b=2']]],
    ]; // prettier-ignore
    const answersOf = async (isWatched: boolean): Promise<unknown[]> => {
      const app = express().disable('x-powered-by');
      const profiler = isWatched ? hindsight(app, { warn: () => undefined }) : undefined;
      for (const [name, list] of lists)
        app.get(`/${name}`, (_req, res) => void res.writeHead(200, undefined, list as string[]).end(name));
      app.get('/set', (_req, res) => {
        res.setHeader('x-set', '1');
        res.writeHead(200, ['X-A', '1', 'X-B', '2']).end();
      });
      app.use((error: Error, _req: Request, res: express.Response, _next: express.NextFunction) => {
        res.end(error.message);
      });
      const { server, origin } = await listen(app);
      const answers: unknown[] = [];
      for (const [name] of [...lists, ['set']]) {
        const answer = await fetch(`${origin}/${name}`);
        const headers = [...answer.headers].filter(([header]) => !/^x-debug-token|^date$/.test(header));
        answers.push([name, headers, await answer.text()]);
      }
      await close(server, profiler);
      return answers;
    };
    const plain = await answersOf(false);
    expect(plain).to.have.nested.property('[1][1][3]').that.deep.equals(['set-cookie', 'b=2']);
    expect(await answersOf(true)).to.deep.equal(plain);
  });

  it('leaves a request that was derived from another one as it is until Express 4 has it', async () => {
    const sentences: string[] = [];
    const warn = (sentence: string): unknown => sentences.push(sentence);
    const derived = async (isWatched: boolean): Promise<unknown> => {
      const app = express4();
      const profiler = isWatched ? hindsight(app, { warn }) : undefined;
      app.get('/outer', (req, res) => {
        const inner = Object.assign(Object.create(req) as Request, { method: 'GET', url: '/inner?a=1' });
        app(inner, res);
      });
      app.get('/inner', ({ query }: Partial<Request>, res) => void res.json([query]));
      const { server, origin } = await listen(app);
      const answer: unknown = await (await fetch(`${origin}/outer?b=2`)).json();
      await close(server, profiler);
      return answer;
    };
    expect(await derived(true)).to.deep.equal(await derived(false));
    expect(sentences.filter((sentence) => sentence.includes('another profiler'))).to.deep.equal([]);
  });

  for (const [name, create] of [
    ['Express 5', express],
    ['Express 4', express4],
  ] as const)
    it(`serves plain objects, as a test passes them to an application of ${name}`, () => {
      const app = create();
      const profiler = hindsight(app, { warn: () => undefined });
      const called: string[] = [];
      app.get('/', (_req, res) => void res.end('found'));
      const call = (req: object, res: object): void => {
        (app as unknown as (...args: unknown[]) => void)(
          { method: 'GET', url: '/', ...req },
          { setHeader: () => undefined, end: (text: string) => called.push(text), ...res },
          (error: unknown) => called.push(String(error)),
        );
      };
      call({}, {});
      call({ headers: null }, {});
      call({ headers: {} }, {});
      call({ headers: {}, url: '/other' }, {});
      call({}, new ServerResponse(new IncomingMessage(undefined as unknown as Socket)));
      expect(called).to.deep.equal(['found', 'found', 'found', 'undefined', 'found']);
      return profiler.close();
    });

  it('records also what node-mocks-http makes: an object without raw headers', async () => {
    const sentences: string[] = [];
    const profiler = createProfiler({ warn: (sentence) => sentences.push(sentence) });
    const app = express();
    app.use(profiler.watch);
    app.get('/', (_req, res) => void res.send('mocked'));
    const req = Object.assign(new EventEmitter(), {
      method: 'GET',
      url: '/',
      headers: { host: 'mocked.test' },
    });
    const res = new ServerResponse(req as unknown as IncomingMessage);
    res.assignSocket(new PassThrough() as unknown as Socket);
    app(req as never, res as never);
    await once(res, 'finish');
    await profiler.close();
    expect(sentences).to.deep.equal([]);
  });
});
