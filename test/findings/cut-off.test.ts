import { expect } from 'chai';
import express from 'express';
import { get } from 'node:http';
import { createProfiler } from '../../app/index.ts';
import { cutOff as rule } from '../../app/findings/process.ts';
import { createConclude } from '../../app/profiler/read/conclude.ts';
import type { ProfileDocument } from '../../app/profiler/profile.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { listen } from '../support/listen.ts';
import { until } from '../support/waiting.ts';

describe('finding cut-off', () => {
  it('says how long a request had run when its process ended', async () => {
    // Read after the end.
    const storage = Object.assign(createMemoryStore(), { close: () => Promise.resolve() });
    const profiler = createProfiler({ enabled: true, storage, toolbar: false });
    const app = express();
    app.use(profiler.watch);
    let hangs = false;
    app.get('/hangs', () => {
      hangs = true;
    });
    app.get('/done', (_req, res) => res.send('done'));
    const { server, origin } = await listen(app);
    await fetch(`${origin}/done`).then((response) => response.text());
    const request = get(`${origin}/hangs`).on('error', () => undefined);
    await until(() => hangs, 'the request runs');
    await profiler.close();
    request.destroy();
    server.close();

    const { rows } = await storage.find({ limit: 10, offset: 0 });
    const cutOff = rows.find(({ url }) => url === '/hangs');
    expect(cutOff?.state).to.equal('final');
    const stored = await storage.read(cutOff?.token ?? '');
    const document = JSON.parse(stored?.text ?? '') as ProfileDocument;
    expect(document.outcome).to.equal('cut off');
    const { findings } = createConclude([], [rule], () => undefined)(document, { sharedOf: () => undefined });
    expect(findings[0]?.sentence).to.match(/^The process ended after this had run for \S+ m?s$/);
    const done = await storage.read(rows.find(({ url }) => url === '/done')?.token ?? '');
    const whole = JSON.parse(done?.text ?? '') as ProfileDocument;
    expect(
      createConclude([], [rule], () => undefined)(whole, { sharedOf: () => undefined }).findings,
    ).to.deep.equal([]);
  });
});
