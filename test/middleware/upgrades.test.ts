/** What a server upgrades is recorded, and is upgraded as if nobody looked. */
import { expect } from 'chai';
import express from 'express';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import type { RequestPanelData } from '../../app/panels/request/data.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';

interface Host {
  server: Server;
  profiler: Profiler;
  port: number;
}

const HANDSHAKE = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: shop.test\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`;

describe('upgrades', () => {
  withQuietConsole();
  const hosts: Host[] = [];
  /** A server does not close what was upgraded. */
  const connections = new Set<Socket>();

  async function open(options: ProfilerOptions = {}, watched = true): Promise<Host> {
    const profiler = createProfiler({ warn: () => undefined, ...options });
    const app = express();
    if (watched) app.use(profiler.watch, profiler.pages);
    app.get('/', (_req, res) => res.send('home'));
    app.get('/room/:name', (req, res) => {
      console.info('in the room', req.params.name);
      res.end();
    });
    const server = createServer(app);
    server.on('connection', (socket: Socket) => connections.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = { server, profiler, port: (server.address() as AddressInfo).port };
    hosts.push(host);
    // The server is learned from the first request that is watched.
    await (await fetch(`http://127.0.0.1:${host.port}/`)).text();
    return host;
  }

  afterEach(async () => {
    for (const { server, profiler } of hosts.splice(0)) {
      server.closeAllConnections();
      server.close();
      await profiler.close(0);
    }
    for (const socket of connections) socket.destroy();
    connections.clear();
  });

  /** As soon as all of them have the state, or when they have had time to. */
  async function rowsOf({ profiler }: Host, path: string, due: 'running' | 'final' = 'final') {
    await sleep(40);
    for (let tries = 0; ; tries++) {
      const { rows } = await profiler.profiles.find({ limit: 50, offset: 0 });
      const found = rows.filter(({ url }) => url.startsWith(path));
      if (tries === 100 || found.every(({ state }) => state === due)) return found;
      await sleep(20);
    }
  }

  /** What comes back for some bytes, until the connection is closed or has been quiet. */
  async function exchange({ port }: Host, text: string): Promise<{ socket: Socket; answer: string }> {
    const socket = connect(port, '127.0.0.1');
    const parts: string[] = [];
    socket.on('data', (chunk: Buffer) => parts.push(chunk.toString('latin1'))).on('error', () => undefined);
    socket.write(text);
    for (let tries = 0; tries < 100 && parts.length === 0 && !socket.destroyed; tries++) await sleep(20);
    await sleep(80);
    return { socket, answer: parts.join('') };
  }

  async function openSocket({ port }: Host, path: string): Promise<WebSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
    return socket;
  }

  it('are in the list while they are open, and whole when they are closed', async () => {
    const host = await open();
    const sockets = new WebSocketServer({ server: host.server });
    sockets.on('connection', (socket) =>
      socket.on('message', (text: Buffer) => socket.send(`echo ${String(text)}`)),
    );
    const socket = await openSocket(host, '/socket?room=1');
    const [running] = await rowsOf(host, '/socket', 'running');
    expect(running).to.include({
      method: 'GET',
      url: '/socket?room=1',
      status: 101,
      state: 'running',
      kind: 'request',
    });
    await sleep(500);
    socket.send('hello');
    await new Promise((resolve) => socket.once('message', resolve));
    socket.close();
    await new Promise((resolve) => socket.once('close', resolve));
    const [row] = await rowsOf(host, '/socket');
    expect(row).to.include({ token: running?.token, state: 'final', status: 101 });
    expect(row?.durationMs).to.be.greaterThan(500);
    const profile = (await host.profiler.profiles.read(row?.token ?? ''))!.profile;
    expect(profile).to.include({ statusMessage: 'Switching Protocols', outcome: 'finished' });
    const { data } = profile.panels.request as unknown as { data: RequestPanelData };
    const names = data.response!.headers.map(({ name }) => name);
    expect(names).to.deep.equal(['Upgrade', 'Connection', 'Sec-WebSocket-Accept']);
    // Frames: two bytes of head, four of mask from the client, the text; then the closing ones.
    expect(data.body).to.include({ bytes: 6 + 5 + 6 + 2 - 2 });
    expect(data.response!.bytes).to.equal(2 + 10 + 2);
    expect(profile.findings).to.deep.equal([]);
  });

  it('run the listeners of the host in their context', async () => {
    const host = await open();
    const other: unknown[] = [];
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      console.info('asked for', req.url);
      // The client goes without a word.
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: own\r\nconnection: upgrade\r\n\r\n');
      setTimeout(() => console.info('later', req.url), 20);
    });
    host.server.on('upgrade', (...args: unknown[]) => other.push(args.length));
    const both = await Promise.all([exchange(host, HANDSHAKE('/a')), exchange(host, HANDSHAKE('/b'))]);
    for (const { socket } of both) socket.destroy();
    expect(other).to.deep.equal([3, 3]);
    for (const path of ['/a', '/b']) {
      const [row] = await rowsOf(host, path);
      const { profile } = (await host.profiler.profiles.read(row!.token))!;
      const { data } = profile.panels.logs as unknown as { data: { lines: { message: string }[] } };
      expect(data.lines.map(({ message }) => message)).to.deep.equal([`asked for ${path}`, `later ${path}`]);
    }
  });

  it('tell a refusal by what it says', async () => {
    const host = await open();
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      if (req.url === '/never') socket.destroy();
      else {
        socket.write('HTTP/1.1 401 Unauth');
        socket.end('orized\r\ncontent-type: text/plain\r\n\r\nno entry', 'latin1');
      }
    });
    const { answer } = await exchange(host, HANDSHAKE('/private'));
    expect(answer).to.match(/^HTTP\/1\.1 401 Unauthorized\r\n[^]*no entry$/);
    await exchange(host, HANDSHAKE('/never'));
    const [row] = await rowsOf(host, '/private');
    expect(row).to.include({ status: 401, state: 'final' });
    const { profile } = (await host.profiler.profiles.read(row!.token))!;
    const { data } = profile.panels.request as unknown as { data: RequestPanelData };
    expect(data.response).to.include({
      status: 401,
      statusMessage: 'Unauthorized',
      text: 'no entry',
      bytes: 8,
    });
    const [never] = await rowsOf(host, '/never');
    expect(never).to.include({ status: null, state: 'final' });
    expect((await host.profiler.profiles.read(never!.token))!.profile.outcome).to.equal('aborted');
  });

  it('are answered by what comes behind interim answers', async () => {
    const host = await open();
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n';
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nx-is: this\r\n\r\n';
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      const answer = interim + (req.url === '/only-interim' ? '' : switching);
      // As one piece, and cut where it hurts.
      if (req.url === '/whole') socket.end(`${answer}ping`);
      else {
        for (const at of [0, 12, 24]) socket.write(answer.slice(at, at + 12));
        socket.write(answer.slice(36));
        socket.end(req.url === '/only-interim' ? '' : 'ping');
      }
    });
    for (const path of ['/whole', '/cut', '/only-interim']) await exchange(host, HANDSHAKE(path));
    for (const path of ['/whole', '/cut']) {
      const [row] = await rowsOf(host, path);
      expect(row, path).to.include({ status: 101, state: 'final' });
      const { data } = (await host.profiler.profiles.read(row!.token))!.profile.panels.request as unknown as {
        data: RequestPanelData;
      };
      expect(data.response, path).to.include({ statusMessage: 'Switching Protocols', bytes: 4 });
      expect(data.response?.headers.map(({ name }) => name))
        .to.include('x-is')
        .and.not.include('link');
    }
    expect((await rowsOf(host, '/only-interim'))[0]).to.include({ status: null, state: 'final' });
  });

  it('reach the host where an observer fails, and take any answer for what it is', async () => {
    const host = await open({
      onRequest: [
        (context) => {
          if (context.first('request')?.url === '/fails') throw new Error('an observer that fails');
        },
      ],
    });
    const large = 'x'.repeat(100_000);
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      const head = req.url === '/large' ? '' : 'HTTP/1.1 403 No\r\n\r\n';
      socket.end(req.url === '/fails' ? head : head + large);
    });
    for (const path of ['/fails', '/large', '/refused'])
      expect([path, (await exchange(host, HANDSHAKE(path))).answer.length]).to.deep.equal([
        path,
        (path === '/large' ? 0 : 19) + (path === '/fails' ? 0 : 100_000),
      ]);
    const statuses = (await rowsOf(host, '/')).map(({ url, status }) => `${url} ${status}`);
    expect(statuses).to.include.members(['/fails 403', '/large null', '/refused 403']);
  });

  it('are no finding where the client goes without a word', async () => {
    const host = await open();
    host.server.on('upgrade', (_req, socket: Socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      socket.resume();
    });
    const { socket } = await exchange(host, HANDSHAKE('/socket'));
    socket.resetAndDestroy();
    const [row] = await rowsOf(host, '/socket');
    const { profile } = (await host.profiler.profiles.read(row!.token))!;
    expect(profile).to.include({ outcome: 'aborted', state: 'final', status: 101 });
    expect(profile.findings).to.deep.equal([]);
  });

  it('leave a server without listeners, and what it answers, as it is', async () => {
    const host = await open();
    const plain = await open({}, false);
    const answers = [];
    for (const one of [host, plain]) {
      const { answer, socket } = await exchange(one, HANDSHAKE('/'));
      answers.push(answer.replace(/^(?:date|x-debug-\S+): .*\r\n/gim, ''));
      socket.destroy();
      expect(one.server.listenerCount('upgrade')).to.equal(0);
    }
    expect(answers[0])
      .to.equal(answers[1])
      .and.match(/^HTTP\/1\.1 200 OK[^]*home$/);
    const [row] = (await rowsOf(host, '/')).filter(({ status }) => status === 200);
    expect(row?.url).to.equal('/');
  });

  it('change neither counts of listeners nor sockets, and end with the profiler', async () => {
    const host = await open();
    let seen: boolean[] = [];
    const listener = (_req: IncomingMessage, socket: Socket): void => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      seen = ['write', 'end'].map((name) => Object.hasOwn(socket, name));
    };
    host.server.on('upgrade', listener);
    const before = host.server.eventNames();
    const { socket } = await exchange(host, HANDSHAKE('/one'));
    expect(seen).to.deep.equal([false, false]);
    expect(host.server.listeners('upgrade')).to.deep.equal([listener]);
    expect(host.server.eventNames()).to.deep.equal(before);
    expect(await rowsOf(host, '/one')).to.have.length(1);
    socket.destroy();
    await host.profiler.close(0);
    expect(Object.hasOwn(host.server, 'emit')).to.equal(false);
    const { answer } = await exchange(host, HANDSHAKE('/two'));
    expect(answer).to.match(/^HTTP\/1\.1 101/);
  });

  it('go through whoever wraps the server too', async () => {
    const host = await open();
    const names: unknown[] = [];
    const { emit } = host.server;
    host.server.emit = function (this: Server, ...args: unknown[]) {
      names.push(args[0]);
      return Reflect.apply(emit, this, args) as boolean;
    } as Server['emit'];
    host.server.on('upgrade', (_req, socket: Socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    );
    await exchange(host, HANDSHAKE('/one'));
    expect(await rowsOf(host, '/one')).to.have.length(1);
    await host.profiler.close(0);
    const { answer } = await exchange(host, HANDSHAKE('/two'));
    expect(answer).to.match(/^HTTP\/1\.1 101/);
    expect(names.filter((name) => name === 'upgrade')).to.have.length(2);
  });

  it('keep one profile where the host hands them to its application', async () => {
    const host = await open();
    const [app] = host.server.listeners('request') as ((req: unknown, res: unknown) => void)[];
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      app!(req, new ServerResponse(req));
    });
    const { socket } = await exchange(host, HANDSHAKE('/room/blue'));
    socket.destroy();
    const rows = await rowsOf(host, '/room');
    expect(rows.map(({ status, route }) => [status, route])).to.deep.equal([[101, '/room/:name']]);
  });

  it('are left out where they are the profiler’s own', async () => {
    const host = await open({});
    host.server.on('upgrade', (_req, socket: Socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    );
    await exchange(host, HANDSHAKE('/_profiler/live'));
    expect(await rowsOf(host, '/_profiler')).to.deep.equal([]);
  });

  it('are drawn to scale on every page after hours', async () => {
    const host = await open();
    host.server.on('upgrade', (_req, socket: Socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      socket.on('data', () => socket.end('bye'));
      setTimeout(() => console.info('after hours'), 100);
    });
    const { socket } = await exchange(host, HANDSHAKE('/long'));
    const now = performance.now.bind(performance);
    const HOURS = 5 * 3_600_000;
    performance.now = () => now() + HOURS;
    try {
      socket.end('x');
      await rowsOf(host, '/long');
    } finally {
      Reflect.deleteProperty(performance, 'now');
    }
    const [row] = await rowsOf(host, '/long');
    expect(row?.durationMs).to.be.greaterThan(HOURS);
    const page = `http://127.0.0.1:${host.port}/_profiler/${row!.token}`;
    for (const panel of ['request', 'timeline', 'logs', 'routing', 'runtime', 'configuration']) {
      const answer = await fetch(`${page}?panel=${panel}`);
      expect(answer.status, panel).to.equal(200);
      expect(await answer.text(), panel).not.to.match(/NaN|undefined|Infinity/);
    }
    const timeline = await (await fetch(`${page}.md?panel=timeline`)).text();
    expect(timeline)
      .to.include('Duration: 5 h 0 min')
      .and.include('Open, waiting')
      .and.not.include('Own code');
    const bar = await (await fetch(`${page}/toolbar.json`)).text();
    expect(bar)
      .to.include('"text":"5 h 0 min"')
      .and.not.match(/\d{5} s"/);
    expect(await (await fetch(`${page}?panel=timeline`)).text())
      .to.include('1 h 0 min')
      .and.not.match(/\d{4}\.?\d* s</);
    expect(await (await fetch(`http://127.0.0.1:${host.port}/_profiler/`)).text()).to.include('/long');
  });
});
