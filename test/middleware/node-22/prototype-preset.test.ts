import { expect } from 'chai';
import express, { type Express } from 'express';
import { once } from 'node:events';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import {
  presetConstructors,
  createPrototypePreset,
} from '../../../app/middleware/node-22/prototype-preset.ts';
import { close, listen } from '../../support/listen.ts';

const isNeeded = Number.parseInt(process.versions.v8, 10) < 13;

interface Born {
  request: IncomingMessage;
  response: ServerResponse;
}

interface Exchange {
  text: string;
  /** The prototypes with which Node emitted the request. */
  born: { request: object | null; response: object | null };
}

/** One request on a connection of its own. */
async function ask(server: Server, path = '/'): Promise<Exchange> {
  let born: Exchange['born'] = { request: null, response: null };
  const note = (message: unknown): void => {
    const { request, response } = message as Born;
    born = {
      request: Object.getPrototypeOf(request) as object,
      response: Object.getPrototypeOf(response) as object,
    };
  };
  subscribe('http.server.request.start', note);
  try {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    return { text: await answer.text(), born };
  } finally {
    unsubscribe('http.server.request.start', note);
  }
}

async function serving(listener: RequestListener, work: (server: Server) => Promise<void>): Promise<void> {
  const { server } = await listen(listener);
  try {
    await work(server);
  } finally {
    await close(server);
  }
}

const NODES_OWN = { request: IncomingMessage.prototype, response: ServerResponse.prototype };

describe('objects of requests', () => {
  let app: Express;
  let preset: ReturnType<typeof createPrototypePreset>;
  const presetOf = (): Exchange['born'] => ({ request: app.request, response: app.response });

  function createApp(make: typeof express): void {
    preset = createPrototypePreset();
    app = make();
    app.use((req, _res, next) => {
      preset.observeServer(req);
      next();
    });
    app.get('/', (req, res) => {
      const inside = Object.getPrototypeOf(req) === app.request && req.query.a === undefined;
      res.set('x-inside', String(inside)).send(`${req.method} ${req.constructor.name} ${inside}`);
    });
  }

  beforeEach(() => {
    createApp(express);
  });

  afterEach(() => {
    preset.close();
  });

  it('are born with the prototypes of the application, from the second request of a server on', async function () {
    if (!isNeeded) this.skip();
    await serving(app, async (server) => {
      const [first, second] = [await ask(server), await ask(server)];
      expect(first.born).to.deep.equal(NODES_OWN);
      expect(second.born.request).to.equal(presetOf().request);
      expect(second.born.response).to.equal(presetOf().response);
      expect(second.text).to.equal(first.text).and.equal('GET IncomingMessage true');
    });
  });

  it('share hidden classes: none becomes a dictionary', async function () {
    if (!isNeeded) this.skip();
    setFlagsFromString('--allow-natives-syntax');
    const isFast = runInThisContext('(object) => %HasFastProperties(object)') as (object: object) => boolean;
    const shareOne = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
    const served: Born[] = [];
    app.get('/many', (request, response) => {
      served.push({ request, response });
      Object.assign(request, { session: null, user: null });
      Object.assign(response, { begun: [], rendered: true });
      response.type('html').send('many');
    });
    await serving(app, async (server) => {
      for (let count = 0; count < 6; count++) await ask(server, '/many');
    });
    const [before, last] = served.slice(-2) as [Born, Born];
    for (const name of ['request', 'response'] as const) {
      expect(isFast(last[name]), name).to.equal(true);
      expect(shareOne(before[name], last[name]), name).to.equal(true);
    }
    setFlagsFromString('--no-allow-natives-syntax');
  });

  it('are born so under Express 4 too, which gives them a query of their own', async function () {
    if (!isNeeded) this.skip();
    createApp(createRequire(import.meta.url)('express-4') as typeof express);
    app.get('/query', (req, res) => {
      req.query = { ...req.query, set: 'by a middleware' };
      res.json(req.query);
    });
    await serving(app, async (server) => {
      const first = await ask(server, '/query?a=1');
      const second = await ask(server, '/query?a=1');
      expect(second.born.request).to.equal(presetOf().request);
      expect(second.text).to.equal(first.text).and.equal('{"a":"1","set":"by a middleware"}');
    });
  });

  it('reach listeners behind the application as Express leaves them', async () => {
    await serving(app, async (server) => {
      const seen: unknown[] = [];
      server.on('request', (req, res) => {
        seen.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res));
      });
      const [first, second] = [await ask(server), await ask(server)];
      expect(seen).to.deep.equal([app.request, app.response, app.request, app.response]);
      if (isNeeded) expect(second.born).to.deep.equal(presetOf());
      expect(second.text).to.equal(first.text);
    });
  });

  it('are those of Node where a function stands before the application', async () => {
    await serving(
      (req, res) => void app(req, res),
      async (server) => {
        await ask(server);
        expect((await ask(server)).born.request).to.equal(IncomingMessage.prototype);
      },
    );
  });

  const others: [string, (server: Server) => void][] = [
    [
      'a listener before the application',
      (server) => void server.prependListener('request', () => undefined),
    ],
    ['a listener for upgrades', (server) => void server.on('upgrade', () => undefined)],
    ['a listener for CONNECT', (server) => void server.on('connect', () => undefined)],
    ['a listener for Expect', (server) => void server.on('checkContinue', () => undefined)],
    ['a limit of requests per connection', (server) => void (server.maxRequestsPerSocket = 100)],
    [
      'a wrapped emit, which may assign what Express has accessors for',
      (server) => {
        const emit = server.emit.bind(server) as (...args: unknown[]) => boolean;
        server.emit = (...args: unknown[]) => emit(...args);
      },
    ],
  ];
  for (const [what, add] of others)
    it(`are those of Node again as soon as there is ${what}`, async () => {
      await serving(app, async (server) => {
        await ask(server);
        if (isNeeded) expect((await ask(server)).born.request).to.equal(presetOf().request);
        add(server);
        const { born, text } = await ask(server);
        expect(born.request).to.equal(IncomingMessage.prototype);
        expect(born.response).to.equal(ServerResponse.prototype);
        expect(text).to.equal('GET IncomingMessage true');
      });
    });

  it('are those of Node where the host brings constructors of its own', async () => {
    class OwnRequest extends IncomingMessage {}
    const server = createServer({ IncomingMessage: OwnRequest }, app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await ask(server);
    expect((await ask(server)).born.request).to.equal(OwnRequest.prototype);
    server.close();
  });

  it('follow an application that changes its prototypes', async () => {
    await serving(app, async (server) => {
      await ask(server);
      app.request = Object.create(app.request) as typeof app.request;
      const { born, text } = await ask(server);
      expect(born.request).to.equal(IncomingMessage.prototype);
      expect(text).to.equal('GET IncomingMessage true');
    });
  });

  it('are those of Node again after the end', async () => {
    await serving(app, async (server) => {
      await ask(server);
      preset.close();
      expect((await ask(server)).born.request).to.equal(IncomingMessage.prototype);
    });
  });

  it('have the same properties in the same order as those of Node', async function () {
    if (!isNeeded) this.skip();
    const names: string[][] = [];
    app.get('/names', (req, res) => {
      names.push([...Reflect.ownKeys(req).map(String), '', ...Reflect.ownKeys(res).map(String)]);
      res.end();
    });
    await serving(app, async (server) => {
      await ask(server, '/names');
      await ask(server, '/names');
    });
    expect(names[0]).to.have.length.above(40);
    expect(names[1]).to.deep.equal(names[0]);
  });

  it('are made so from the first one on where the server is ours', async function () {
    if (!isNeeded) this.skip();
    const server = createServer(presetConstructors(app), app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect((await ask(server)).born.request).to.equal(app.request);
    server.close();
    expect(presetConstructors(() => undefined)).to.deep.equal({});
  });

  const onPrototypes: [string, () => void][] = [
    [
      'an accessor of a property that Node sets on requests',
      () => void Object.defineProperty(app.request, 'client', { configurable: true, get: () => 'a client' }),
    ],
    [
      'an accessor of a property that Node sets on responses',
      () => void Object.defineProperty(app.response, 'finished', { configurable: true, get: () => 'no' }),
    ],
    [
      'an accessor that rewrites addresses',
      () =>
        void Object.defineProperty(app.request, 'url', {
          configurable: true,
          get: () => '/elsewhere',
          set: () => undefined,
        }),
    ],
  ];
  for (const [what, put] of onPrototypes)
    it(`are those of Node where a prototype has ${what}`, async () => {
      put();
      await serving(app, async (server) => {
        const [first, second] = [await ask(server), await ask(server)];
        expect(second.born).to.deep.equal(NODES_OWN);
        expect(second.text).to.equal(first.text).and.equal('GET IncomingMessage true');
      });
    });

  it('are those of Node where a prototype gets an accessor without setter later', async () => {
    await serving(app, async (server) => {
      await ask(server);
      await ask(server);
      Object.defineProperty(app.request, 'client', { configurable: true, get: () => 'a client' });
      Object.defineProperty(app.response, 'finished', { configurable: true, get: () => 'no' });
      const { born, text: answer } = await ask(server);
      expect(born).to.deep.equal(NODES_OWN);
      expect(answer).to.equal('GET IncomingMessage true');
    });
  });

  it('leave what Node refuses to the methods of Node', async () => {
    const { writeHead } = app.response;
    app.response.writeHead = function (this: ServerResponse, ...args: Parameters<typeof writeHead>) {
      this.setHeader('x-host', '1');
      return Reflect.apply(writeHead, this, args) as ServerResponse;
    } as typeof writeHead;
    await serving(app, async (server) => {
      const { port } = server.address() as AddressInfo;
      const send = (head: string): Promise<string> =>
        text(connect(port, '127.0.0.1').end(`GET / HTTP/1.1\r\nconnection: close\r\n${head}\r\n`));
      for (let round = 0; round < 2; round++) {
        expect(await send('host: a\r\n')).to.contain('x-host: 1');
        expect(await send(''))
          .to.match(/^HTTP\/1.1 400 /)
          .and.not.contain('x-host');
        expect(await send('host: a\r\nexpect: much\r\n'))
          .to.match(/^HTTP\/1.1 417 /)
          .and.not.contain('x-host');
      }
    });
  });

  it('are named in stack traces as those of Node are: pages show them', async () => {
    app.get('/stack', (req, res) => {
      const note = function (this: object): void {
        res.send(
          new Error('here').stack
            ?.split('\n')
            .filter((line) => line.includes('.emit '))
            .join() ?? '',
        );
      };
      req.once('noted', note).emit('noted');
    });
    await serving(app, async (server) => {
      const [first, second] = [await ask(server, '/stack'), await ask(server, '/stack')];
      expect(first.text).to.contain('IncomingMessage.emit');
      expect(second.text).to.equal(first.text);
    });
  });

  it('stay as they are where a connection only looks like one of a server', () => {
    for (const socket of [undefined, null, {}, { server: null }, { server: 'a name' }, { server: {} }])
      expect(() => {
        preset.observeServer({ socket } as unknown as IncomingMessage);
      }).to.not.throw();
  });
});
