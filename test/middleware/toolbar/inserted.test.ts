/** Pages over HTTP, with the middleware that hosts put round their answers: who gets the tag, and what is kept of those that don't. */
import { namedHeader, type NamedValue } from '../../../app/profiler/record/raw-headers.ts';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { load } from 'cheerio';
import type { Request, RequestHandler, Response } from 'express';
import { MOST_LOOKED_AT } from '../../../app/middleware/toolbar/insertion.ts';
import {
  compression,
  EXPRESSES,
  NAVIGATION,
  readAnswer,
  session,
  startToolbarHost,
  type ToolbarHost,
} from '../../support/raw-toolbar-host.ts';
import { until } from '../../support/waiting.ts';

const PAGE = `<!doctype html><html><head><title>x</title></head><body>${'<p>Row</p>'.repeat(300)}</body></html>`;
const TAG =
  /<script async src="\/_profiler\/toolbar\.js[^>]*data-token="([0-9a-f]{6})"[^>]* data-hindsight *><\/script>(?:<script(?: nonce="[^"]*")?>[^<]*<\/script>)?/g;

type Answering = (req: Request, res: Response) => unknown;

function tagsIn(text: string): string[] {
  return Array.from(text.matchAll(TAG), ([tag]) => tag);
}

for (const [version, express] of EXPRESSES) {
  describe(`a page that gets the toolbar, ${version}`, () => {
    let host: ToolbarHost | undefined;
    afterEach(async () => {
      await host?.close();
      host = undefined;
    });

    async function serve(answer: Answering, ...layers: RequestHandler[]): Promise<ToolbarHost> {
      host = await startToolbarHost(
        (app) => {
          if (layers.length > 0) app.use(...layers);
          app.use((req, res) => void answer(req, res));
          return undefined;
        },
        { express },
      );
      return host;
    }

    const SENDERS: readonly [string, Answering][] = [
      ['send', (_req, res) => res.send(PAGE)],
      ['pieces', async (_req, res) => {
        res.type('html');
        for (let at = 0; at < PAGE.length; at += 700) {
          res.write(PAGE.slice(at, at + 700));
          await sleep(1);
        }
        res.end();
      }],
      ['pipe', (_req, res) => Readable.from([PAGE.slice(0, 999), PAGE.slice(999)]).pipe(res.type('html'))],
    ]; // prettier-ignore

    for (const [name, answer] of SENDERS) {
      it(`is compressed with it: ${name}`, async () => {
        const { ask } = await serve(answer, compression());
        const { header, body } = await ask('/', { ...NAVIGATION, 'accept-encoding': 'gzip' });
        expect(header('content-encoding')).to.equal('gzip');
        expect(header('content-length')).to.equal(undefined);
        const text = gunzipSync(body).toString();
        expect(tagsIn(text)).to.have.length(1);
        expect(text.replace(TAG, '')).to.equal(PAGE);
      });
    }

    it('is sent by a session and compression in either order, and by who puts methods back', async () => {
      const keep = session({ secret: 'x', resave: true, saveUninitialized: true });
      const log: RequestHandler = (_req, res, next) => {
        const { end } = res;
        res.end = ((...args: Parameters<Response['end']>) => {
          res.end = end;
          return res.end(...args);
        }) as Response['end'];
        next();
      };
      for (const layers of [[keep, compression()], [compression(), keep], [log], [log, keep, log]]) {
        const { ask, close } = await serve((_req, res) => res.send(PAGE), ...layers);
        const { header, body } = await ask('/');
        expect(tagsIn(body.toString())).to.have.length(1);
        expect(header('content-length') ?? String(body.length)).to.equal(String(body.length));
        await close();
        host = undefined;
      }
    });

    it('shares its accessors with other documents, and is sent by the method of a proxy', async () => {
      const ends: PropertyDescriptor['get'][] = [];
      const { ask } = await serve((_req, res) => {
        ends.push(Object.getOwnPropertyDescriptor(res, 'end')?.get);
        const { end } = new Proxy(res, {});
        end.call(res.type('html'), PAGE, 'utf8');
      });
      for (const path of ['/', '/other']) expect(tagsIn((await ask(path)).body.toString())).to.have.length(1);
      expect(ends[0]).to.be.a('function').and.equal(ends[1]);
    });

    it('is searched only if it is a document', async () => {
      const readTo: unknown[] = [];
      const { ask } = await serve((req, res) => {
        const body = Buffer.from(PAGE);
        const plain = body.toString.bind(body);
        const toString = (...args: Parameters<Buffer['toString']>): string => {
          readTo.push(args[2]);
          return plain(...args);
        };
        res.type(req.url === '/page' ? 'html' : 'json').end(Object.assign(body, { toString }));
      });
      await ask('/data');
      expect(readTo).not.to.include(MOST_LOOKED_AT);
      await ask('/page');
      expect(readTo).to.include(MOST_LOOKED_AT);
    });

    it('hands its parts on at once, with what write gives and its callbacks', async () => {
      const seen: unknown[] = [];
      const { port } = await serve(async (_req, res) => {
        res.type('html').set('content-length', String(PAGE.length));
        seen.push(res.write(PAGE.slice(0, 100), () => seen.push('written')));
        await sleep(30);
        seen.push(res.write(PAGE.slice(100), 'latin1', () => seen.push('written too')));
        seen.push(res.end(() => seen.push('ended')) === res);
      });
      const socket = connect(port, '127.0.0.1');
      const fields = Object.entries({ host: 'x', ...NAVIGATION, connection: 'close' });
      socket.write(`GET / HTTP/1.1\r\n${fields.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n`);
      const [first] = (await once(socket, 'data')) as [Buffer];
      expect(first.toString()).to.include('<title>x</title>').and.not.include('</body>');
      const rest: Buffer[] = [];
      socket.on('data', (piece: Buffer) => rest.push(piece));
      await once(socket, 'close');
      const { header, body } = readAnswer(Buffer.concat([first, ...rest]));
      expect(header('content-length')).to.equal(String(body.length));
      expect(tagsIn(body.toString())).to.have.length(1);
      expect(body.toString().replace(TAG, '')).to.equal(PAGE);
      expect(seen).to.have.members([true, true, true, 'written', 'written too', 'ended']);
    });

    it('is the same however it is cut, with a length and without', async function () {
      const text = '<!doctype html><!-- <head> --><html><head a=">"><title>x</title></head><p>x</p>';
      const place = text.indexOf('<title>');
      const { send } = await serve((req, res) => {
        const [at, hasLength] = req.url.slice(1).split('-');
        res.type('html');
        if (hasLength === '1') res.setHeader('Content-Length', text.length);
        res.write(text.slice(0, Number(at)));
        res.end(text.slice(Number(at)));
      });
      for (const hasLength of [0, 1]) {
        // At each character: place-finder.test.ts.
        for (let at = 1; at < text.length; at += 5) {
          const fields = Object.entries({ host: 'x', ...NAVIGATION, connection: 'close' });
          const asked = `GET /${at}-${hasLength} HTTP/1.1\r\n${fields.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n`;
          const { body, header } = readAnswer(await send(asked));
          if (hasLength === 1) expect(header('content-length'), `cut at ${at}`).to.equal(String(body.length));
          const sent = body.toString();
          // A length goes out with the first piece, and is right only if that reaches the place.
          const gets = hasLength === 0 || at >= place;
          expect(sent.search(TAG), `cut at ${at}`).to.equal(gets ? place : -1);
          expect(sent.replace(TAG, ''), `cut at ${at}`).to.equal(text);
        }
      }
    });

    it('has the tag before its content where the piece before ended with the first "<" of that', async () => {
      const { ask } = await serve((_req, res) => {
        res.type('html').write('<!doctype html><');
        res.end('title>x</title>');
      });
      const { body } = await ask('/');
      expect(body.toString()).to.match(
        /^<!doctype html><script async [^>]*><\/script><script>[^<]*<\/script><title>x<\/title>$/,
      );
    });

    it('gets no second tag when a cache of the application sends it again', async () => {
      let kept = '';
      const cache: RequestHandler = (_req, res, next) => {
        if (kept !== '') {
          res.type('html').end(kept);
          return;
        }
        const { end } = res;
        res.end = ((...args: Parameters<Response['end']>) => {
          kept = String(args[0]);
          return end.apply(res, args);
        }) as Response['end'];
        next();
      };
      const { ask } = await serve((_req, res) => res.send(PAGE.replace('<head>', '')), cache);
      const first = (await ask('/')).body.toString();
      expect(tagsIn(first)).to.have.length(1);
      expect((await ask('/')).body.toString()).to.equal(first);
    });

    it('survives clients that leave and handlers that fail in the middle', async () => {
      let closed = 0;
      const { port, ask } = await serve((req, res) => {
        res.on('close', () => closed++);
        if (req.url === '/whole') return res.send(PAGE);
        res.type('html').set('Content-Length', '100000');
        res.write(PAGE.slice(0, 200));
        if (req.url === '/fail') return setTimeout(() => res.destroy(), 30);
        return setTimeout(() => res.end(PAGE.slice(200)), 50);
      });
      const socket = connect(port, '127.0.0.1');
      const fields = Object.entries({ host: 'x', ...NAVIGATION });
      socket.write(`GET / HTTP/1.1\r\n${fields.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n`);
      await once(socket, 'data');
      socket.destroy();
      expect((await ask('/fail')).body.toString().replace(TAG, '')).to.equal(PAGE.slice(0, 200));
      await until(() => closed === 2, 'both are over');
      expect(tagsIn((await ask('/whole')).body.toString())).to.have.length(1);
      await until(() => closed === 3, 'the last one is over');
    });

    it('is one of several on a connection, each with its own token', async () => {
      const { send } = await serve((_req, res) => res.send(PAGE));
      const fields = Object.entries({ host: 'x', ...NAVIGATION }).map((pair) => pair.join(': '));
      const ask = `GET / HTTP/1.1\r\n${fields.join('\r\n')}\r\n`;
      const text = (await send(`${ask}\r\n${ask}\r\n${ask}connection: close\r\n\r\n`)).toString();
      const sent = Array.from(text.matchAll(/x-debug-token: (\w+)/g), ([, token]) => token);
      expect(Array.from(text.matchAll(TAG), ([, token]) => token)).to.deep.equal(sent);
      expect(sent).to.have.length(3);
    });
  });
}

describe('the profile of a page with the toolbar', () => {
  it('shows the body as the application wrote it', async () => {
    const host = await startToolbarHost((app) => {
      app.use((_req, res) => void res.send(PAGE));
      return undefined;
    });
    const { header, body } = await host.ask('/');
    const tag = tagsIn(body.toString())[0] ?? '';
    const found = await host.profiler.profiles.read(header('x-debug-token') ?? '');
    await host.close();
    const profile = found?.profile;
    const { response } = profile?.panels.request?.data as {
      response: { text: string; bytes: number; headers: NamedValue[]; toolbarBytes: number };
    };
    expect(response.text).to.equal(PAGE);
    expect(response.toolbarBytes).to.equal(tag.length);
    expect(response.bytes).to.equal(PAGE.length);
    expect(namedHeader(response.headers, 'content-length')).to.equal(String(PAGE.length));
    expect(profile?.masked).to.deep.equal([]);
    // A busy machine blocks the event loop.
    const findings = profile?.findings.filter(({ rule }) => rule !== 'event-loop-blocked');
    expect(findings).to.deep.equal([]);
  });
});

describe('a page that gets no toolbar', () => {
  async function absenceOf(answer: Answering, headers: Record<string, string> = NAVIGATION): Promise<string> {
    const host = await startToolbarHost((app) => {
      app.use((req, res) => void answer(req, res));
      return undefined;
    });
    const { header, body } = await host.ask('/', headers);
    expect(tagsIn(body.toString())).to.deep.equal([]);
    const page = await host.ask(`/_profiler/${header('x-debug-token') ?? ''}?panel=request`, NAVIGATION);
    expect(tagsIn(page.body.toString()), 'on the profiler’s own page').to.deep.equal([]);
    await host.close();
    return load(page.body.toString())('#no-toolbar .say').text();
  }
  const policy =
    (text: string): Answering =>
    (_req, res) =>
      res.set('Content-Security-Policy', text).send(PAGE);

  it('says why on its profile', async () => {
    expect(await absenceOf(policy("script-src 'none'"))).to.equal(
      'No toolbar: the policy’s script-src has no nonce, ’self’ or * that lets its script run.',
    );
    expect(await absenceOf(policy('sandbox'))).to.equal('No toolbar: the policy’s sandbox allows no script.');
    expect(await absenceOf((_req, res) => res.send('<p>x</p>'))).to.match(
      /does not begin as a whole document/,
    );
    expect(await absenceOf((_req, res) => res.send('<html><!--'))).to.match(
      /uncertain where its content begins/,
    );
    expect(
      await absenceOf((_req, res) => {
        res.type('html').set('Content-Length', String(PAGE.length)).write(PAGE.slice(0, 20));
        res.end(PAGE.slice(20));
      }),
    ).to.match(/Content-Length was fixed before/);
    expect(
      await absenceOf((_req, res) => {
        res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Security-Policy': "script-src 'none'" });
        res.end(PAGE);
      }),
    ).to.match(/script-src/);
  });

  it('says nothing where nobody asked for a page, or the answer is none', async () => {
    expect(await absenceOf(policy("script-src 'none'"), { accept: '*/*' })).to.equal('');
    expect(await absenceOf((_req, res) => res.json({}))).to.equal('');
    expect(await absenceOf((_req, res) => res.redirect('/x'))).to.equal('');
  });

  it('is the error page of the profiler itself', async () => {
    const host = await startToolbarHost((app, profiler) => {
      app.use(() => {
        throw new Error('failed');
      });
      app.use(profiler.errors);
      return undefined;
    });
    const { body, line } = await host.ask('/');
    expect(line).to.include('500');
    expect(tagsIn(body.toString())).to.deep.equal([]);
    await host.close();
  });

  it('is each where the toolbar is off, and in production unless it is asked for', async () => {
    const before = process.env.NODE_ENV;
    const count = async (options: { toolbar?: boolean | undefined; enabled?: boolean }): Promise<number> => {
      const host = await startToolbarHost((app) => {
        app.use((_req, res) => void res.send(PAGE));
        return undefined;
      }, options);
      const { body } = await host.ask('/');
      await host.close();
      return tagsIn(body.toString()).length;
    };
    try {
      expect(await count({ toolbar: false })).to.equal(0);
      expect(await count({ toolbar: undefined })).to.equal(1);
      process.env.NODE_ENV = 'production';
      expect(await count({ toolbar: undefined, enabled: true })).to.equal(0);
      expect(await count({ toolbar: true, enabled: true })).to.equal(1);
    } finally {
      if (before === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = before;
    }
  });
});
