import { expect } from 'chai';
import express from 'express';
import { createProfiler } from '../../../app/index.ts';
import { close, listen } from '../../support/listen.ts';

describe('a token that a process does not have', () => {
  it('may be of another process where profiles are in memory, and the page says what to do', async () => {
    const profiler = createProfiler();
    const app = express();
    app.use(profiler.watch, profiler.pages);
    const { server, port } = await listen(app);
    const response = await fetch(`http://127.0.0.1:${port}/_profiler/abcdef`);
    expect(response.status).to.equal(404);
    expect(await response.text()).to.contain(
      'another one may have it. Set PROFILER_DIR to a folder that they share',
    );
    await close(server, profiler);
  });
});
