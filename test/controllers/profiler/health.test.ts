/** The page of what became of each token: every sum is compared with what was really asked, stored and dropped. */
import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import type { Server } from 'node:http';
import { createProfiler } from '../../../app/index.ts';
import type { Profiler } from '../../../app/index.ts';
import type { Health } from '../../../app/profiler/health.ts';
import { close, listen } from '../../support/listen.ts';
import { createMemoryDisk } from '../../../app/storage/files/disk.ts';
import { createFileStore } from '../../../app/storage/files/file-store.ts';
import { until } from '../../support/waiting.ts';

describe('the health page', () => {
  let server: Server;
  let profiler: Profiler;
  let origin: string;
  let fails = false;
  const disk = createMemoryDisk();
  const storage = createFileStore({
    disk: {
      ...disk,
      // Small segments, so that each write opens one.
      segmentBytes: 0,
      create: (name) => (fails ? Promise.reject(new Error('away')) : disk.create(name)),
    },
    project: '',
    script: '',
    guard: null,
    thread: 0,
    warn: () => undefined,
  });

  before(async () => {
    profiler = createProfiler({ storage, sampleRate: 1, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/page', (_req, res) => res.send('page'));
    app.get('/fails', () => {
      throw new Error('failed');
    });
    app.use(profiler.errors);
    ({ server, origin } = await listen(app));
  });
  after(async () => {
    fails = false;
    await close(server, profiler);
  });

  const ask = async (path: string): Promise<string> => (await fetch(`${origin}${path}`)).text();
  const read = async (): Promise<Health> =>
    (
      await fetch(`${origin}/_profiler/health`, { headers: { accept: 'application/json' } })
    ).json() as Promise<Health>;

  it('counts each token once: stored, waiting, and those of its own pages apart', async () => {
    for (let asked = 0; asked < 10; asked++) await ask('/page');
    for (let asked = 0; asked < 3; asked++) await ask('/fails');
    await ask('/_profiler/');
    // Each failed request has two tokens: its own, and that of its error page.
    const all = { tokens: 16, stored: 16, waiting: 0, running: 0, dropped: {}, leftOut: {} };
    let health = await read();
    await until(async () => (health = await read()).application.stored === 16, 'all are stored');
    expect(health.application).to.deep.equal(all);
    expect((await storage.find({ kinds: ['request', 'error_page'], limit: 50, offset: 0 })).total).to.equal(
      16,
    );
    expect(health.profiler.tokens).to.be.greaterThan(1);

    fails = true;
    for (let asked = 0; asked < 5; asked++) await ask('/page');
    await until(async () => (health = await read()).application.waiting === 5, 'the others wait');
    expect(health.application).to.deep.equal({ ...all, tokens: 21, waiting: 5 });
    expect(health.queue.pending).to.be.at.least(5);
    await until(async () => (await read()).queue.failedWrites > 0, 'a write fails');
    fails = false;
    await until(async () => (health = await read()).application.stored === 21, 'they are stored');
  });

  it('shows the same as a page', async () => {
    const $ = load(await (await fetch(`${origin}/_profiler/health`)).text());
    const rows = $('#tokens tbody tr')
      .toArray()
      .map((row) => [$(row).find('th').text(), $(row).find('td').first().text()]);
    expect(rows.slice(0, 2)).to.deep.equal([
      ['Tokens', '21'],
      ['Stored', '21'],
    ]);
  });
});
