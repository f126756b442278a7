/** Events of a real socket.io server and client, beside `hindsight(app)`. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import express from 'express';
import pg from 'pg';
import { hindsight, type Profiler } from '../../app/index.ts';
import { EVENTS_PER_SECOND } from '../../app/observe/socket-events.ts';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import type { SpansData } from '../../app/panels/spans/index.ts';
import type { LogsData } from '../../app/panels/logs/data.ts';
import type { ProfileIndex } from '../../app/profiler/store/profile-index.ts';
import { loadFrom } from './cases.ts';
import { withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

interface Socket {
  on(event: string, listener: (...args: never[]) => unknown): void;
  once(event: string, listener: (...args: never[]) => unknown): void;
  onAny(listener: (...args: never[]) => unknown): void;
  prependAny(listener: (...args: never[]) => unknown): void;
  emit(event: string, ...values: unknown[]): void;
  emitWithAck(event: string, ...values: unknown[]): Promise<unknown>;
  disconnect(): void;
}
interface SocketServer extends Pick<Socket, 'on' | 'emit'> {
  to(room: unknown): Pick<Socket, 'emit'>;
  of(namespace: string): Pick<Socket, 'on'>;
  close(): Promise<void>;
}
interface Library {
  Server: new (server: Server) => SocketServer;
}
interface Client {
  io(url: string, options: object): Socket;
}

describe('events of socket.io', () => {
  const database = withPostgres();
  const load = loadFrom({ folder: 'current', library: 'socket.io' });
  let profiler: Profiler;
  let pool: pg.Pool;
  let io: SocketServer;
  let server: Server;
  let client: Socket;
  let admin: Socket;
  let origin: string;
  let connect: Client['io'];

  beforeEach(async () => {
    const app = express();
    profiler = hindsight(app, { enabled: true });
    pool = new pg.Pool(database().connection);
    // Its last connections may still be closing when the database is dropped.
    pool.on('error', () => undefined);
    server = createServer(app);
    io = new (load?.('socket.io') as Library).Server(server);
    app.get('/tickets', (_req, res) => {
      io.to(3).emit('ticket', { id: 1 });
      io.to('3').emit('ticket', { id: 1 });
      io.emit('closing');
      res.send('sent');
    });
    const listen = (socket: Socket & { join?: (room: string) => unknown }): void => {
      void socket.join?.('3');
      socket.on(
        'find',
        async ({ id }: { id: number; password: string }, answer: (found: unknown) => void) => {
          const { rows } = await pool.query('select $1::int as id', [id]);
          answer(rows[0]);
        },
      );
      socket.on('callback', (id: number, answer: (found: unknown) => void) => {
        pool.query('select $1::int as id', [id], (_error, { rows }) => {
          answer(rows[0]);
        });
      });
      socket.on('fail', async () => {
        await Promise.reject(new TypeError('no such room'));
      });
      socket.on('handled', () => {
        const failing = Promise.reject(new Error('handled elsewhere'));
        failing.catch(() => undefined);
        return failing;
      });
    };
    io.on('connection', listen);
    io.of('/admin').on('connection', listen);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    connect = (load?.('socket.io-client') as Client).io;
    client = connect(origin, { transports: ['websocket'] });
    admin = connect(`${origin}/admin`, { transports: ['websocket'] });
  });
  afterEach(async () => {
    client.disconnect();
    admin.disconnect();
    await io.close();
    await pool.end();
    await profiler.close();
  });

  async function events(): Promise<ProfileIndex[]> {
    const { rows } = await profiler.profiles.find({ kinds: ['command'], limit: 500, offset: 0 });
    return rows.filter(({ method }) => method === 'EVENT');
  }

  async function eventNamed(name: string): Promise<ProfileIndex> {
    let found: ProfileIndex | undefined;
    await until(async () => {
      found = (await events()).find(({ url, state }) => url === name && state === 'final');
      return found !== undefined;
    }, `a profile of ${name}`);
    return found!;
  }

  it('have a profile each, with arguments, statements and their lines, until they are answered', async () => {
    expect(await client.emitWithAck('find', { id: 7, password: 'hunter22' })).to.deep.equal({ id: 7 });
    expect(await admin.emitWithAck('callback', 8)).to.deep.equal({ id: 8 });
    const values = [[7, 'find'], [8, '/admin callback']] as const; // prettier-ignore
    for (const [id, name] of values) {
      const { token } = await eventNamed(name);
      const found = await profiler.profiles.read(token);
      const { queries, statements } = found?.profile.panels.database?.data as DatabaseData;
      expect(queries.map(({ bindings, error, durationMs }) => [bindings.map(({ value }) => value), error, typeof durationMs])).to.deep.equal([[[id], null, 'number']]); // prettier-ignore
      expect(statements[queries[0]!.statement]).to.have.property('sql', 'select $1::int as id');
      expect(queries[0]?.caller).to.match(/^test\/libraries\/socket-events\.test\.ts:\d+$/);
      const dumped = JSON.stringify(found?.profile.panels.dump?.data);
      expect(dumped).to.contain(String(id));
      expect(dumped).to.not.contain('hunter22');
    }
  });

  it('have in one profile what listeners of all events and those of its name do', async () => {
    io.on('connection', (socket: Socket) => {
      socket.onAny(async (name: string) => {
        console.log('any', name);
        await pool.query('select 1 as one');
        console.log('later', name);
      });
      socket.prependAny((name: string) => console.log('first', name));
      socket.onAny((name: string, _id: number, answer?: (text: string) => void) => {
        if (name === 'unknown') answer?.('nobody listens');
      });
    });
    const anyone = connect(origin, { transports: ['websocket'], forceNew: true });
    expect(await anyone.emitWithAck('find', { id: 5 })).to.deep.equal({ id: 5 });
    expect(await anyone.emitWithAck('unknown', 6)).to.equal('nobody listens');
    anyone.emit('told', 7);
    const told = await eventNamed('told');
    for (const { token, url } of [await eventNamed('find'), await eventNamed('unknown'), told]) {
      const { panels } = (await profiler.profiles.read(token))!.profile;
      const { lines } = panels.logs!.data as LogsData;
      expect(lines.map(({ message }) => message)).to.deep.equal([`first ${url}`, `any ${url}`, `later ${url}`]); // prettier-ignore
      const { queries } = panels.database!.data as DatabaseData;
      expect(queries).to.have.length(url === 'find' ? 2 : 1);
    }
    expect(await events()).to.have.length(3);
    anyone.disconnect();
  });

  it('that the server sends to rooms are steps of its request, with how many clients they reach', async () => {
    await client.emitWithAck('find', { id: 7 });
    const token = (await fetch(`${origin}/tickets`)).headers.get('x-debug-token') ?? '';
    const { profile } = (await profiler.profiles.read(token))!;
    const { items } = profile.panels.spans?.data as SpansData;
    expect(items.map(({ name, emitted }) => [name, emitted])).to.deep.equal([
      ['emit ticket to room 3 (a number)', { count: 0, joined: ['"3"'] }],
      ['emit ticket to room "3"', { count: 1, joined: [] }],
      ['emit closing to all', { count: 1, joined: [] }],
    ]);
    expect(items[0]?.caller).to.match(/^test\/libraries\/socket-events\.test\.ts:\d+$/);
    const text = await (await fetch(`${origin}/_profiler/${token}.md?length=short`)).text();
    expect(text).to.match(/emit ticket to room 3 \(a number\).*no receiver.*joined rooms: "3"/);
  });

  it('keep what a listener rejects with, which stays unhandled', async () => {
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    try {
      const unhandled = once(process, 'unhandledRejection');
      client.emit('fail');
      const [reason] = (await unhandled) as [Error];
      expect(reason.message).to.equal('no such room');
    } finally {
      for (const other of others) process.on('unhandledRejection', other);
    }
    const { token } = await eventNamed('fail');
    const found = await profiler.profiles.read(token);
    expect(JSON.stringify(found?.profile.panels.exception?.data)).to.contain('no such room');
  });

  it('leave a rejection handled that the listener handles itself', async () => {
    let unhandled = 0;
    const count = (): void => void unhandled++;
    process.on('unhandledRejection', count);
    client.emit('handled');
    await eventNamed('handled');
    process.off('unhandledRejection', count);
    expect(unhandled).to.equal(0);
  });

  it(`are recorded ${EVENTS_PER_SECOND} times a second at most, and answered always`, async () => {
    const ids = Array.from({ length: 300 }, (_, id) => id);
    const began = performance.now();
    const answers = await Promise.all(ids.map((id) => client.emitWithAck('find', { id })));
    expect(answers).to.deep.equal(ids.map((id) => ({ id })));
    const seconds = Math.floor((performance.now() - began) / 1000) + 2;
    await sleep(100);
    const { length } = await events();
    expect(length).to.be.within(1, EVENTS_PER_SECOND * seconds);
  });

  it('leave the library as it was, once the profiler is closed', async () => {
    const { Socket } = load?.('socket.io') as { Socket: { prototype: { emitUntyped: { name: string } } } };
    const watched = Socket.prototype.emitUntyped;
    await profiler.close();
    expect(Socket.prototype.emitUntyped).to.not.equal(watched);
    expect(await client.emitWithAck('find', { id: 9 })).to.deep.equal({ id: 9 });
  });
});
