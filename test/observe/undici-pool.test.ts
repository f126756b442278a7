/** A pool of undici without a free connection: the call is recorded where it was asked for, with its wait and who holds the connections. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import * as undici from 'undici';
import { undiciPatch } from '../../app/observe/channels/undici.ts';
import { observeHttpClient } from '../../app/observe/http-client/http-client.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

const HERE = /^test\/observe\/undici-pool\.test\.ts:\d+$/;

describe('a call that waits in a pool of undici', () => {
  const tracker = new ContextTracker();
  let server: Server;
  let pool: undici.Pool;
  let undo: (() => void) | null;
  let observation: { close(): void };

  before(async () => {
    // More than the buffers of a connection hold, so that an unread body keeps it.
    const body = Buffer.alloc(2_000_000, 'a');
    server = createServer((_req, res) => res.end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    undo = undiciPatch.patch(undici);
    observation = observeHttpClient({ tracker, findCaller: createCallerFinder() });
    const { port } = server.address() as AddressInfo;
    pool = new undici.Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  });
  afterEach(async () => {
    await pool.destroy();
    observation.close();
    undo?.();
  });

  const contextOf = (number: number): Context =>
    new Context({ token: String(number).padStart(6, '0'), kind: 'request' });

  it('is one of the request that asked, whoever gives the connection back', async () => {
    const [first, second, third] = [contextOf(1), contextOf(2), contextOf(3)];
    const taken = await tracker.run(first, () => pool.request({ path: '/first', method: 'GET' }));
    const asked = [
      tracker.run(second, () => pool.request({ path: '/second', method: 'POST', body: '{}' })),
      pool.request({ path: '/of-nobody', method: 'GET' }),
      tracker.run(third, () => pool.request({ path: '/third', method: 'GET' })),
    ];
    const [waiting] = second.all('call');
    expect(waiting).to.include({ method: 'POST', status: null, durationMs: null });
    expect(waiting?.caller).to.match(HERE);
    const held = { profile: '000001', what: 'a request', place: first.last('call')?.caller, connections: 1 };
    expect(waiting?.heldBy).to.deep.equal([held]);
    await tracker.run(first, async () => {
      await taken.body.dump();
    });
    for (const one of asked) await (await one).body.text();
    const urls = (context: Context): string[] => context.all('call').map(({ url }) => new URL(url).pathname);
    expect([first, second, third].map(urls)).to.deep.equal([['/first'], ['/second'], ['/third']]);
    const [ended] = second.all('call');
    expect(ended).to.include({ status: 200, error: null });
    expect(ended?.sentMs)
      .to.be.a('number')
      .and.below(ended?.headersMs ?? 0);
    expect(ended?.requestHeaders).to.include('host');
  });

  it('fails as it does without us, and has not ended if no connection comes', async () => {
    const context = contextOf(1);
    const taken = await tracker.run(context, () => pool.request({ path: '/first', method: 'GET' }));
    const waiting = tracker.run(context, () => pool.request({ path: '/second', method: 'GET' }));
    const failed = waiting.then(
      () => '',
      (error: unknown) => (error as { code?: string }).code,
    );
    await pool.destroy();
    expect(await failed).to.equal('UND_ERR_DESTROYED');
    await taken.body.dump().catch(() => undefined);
    expect(context.all('call').at(-1)).to.include({ status: null, durationMs: null });
  });
});
