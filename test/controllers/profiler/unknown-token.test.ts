import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createProfiler } from '../../../app/index.ts';

describe('a token that a process does not have', () => {
  it('may be of another process where profiles are in memory, and the page says what to do', async () => {
    const profiler = createProfiler();
    const app = express();
    app.use(profiler.watch);
    app.use(profiler.pages);
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/_profiler/abcdef`);
    expect(response.status).to.equal(404);
    expect(await response.text()).to.contain(
      'another one may have it: store profiles in PostgreSQL to share them',
    );
    server.close();
    server.closeAllConnections();
    await profiler.close();
  });
});
