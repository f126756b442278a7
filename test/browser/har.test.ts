/** A HAR of the profiler in Chromium: what a page and its outgoing call answered is replayed from the file, without a server. */
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import express from 'express';
import { createProfiler } from '../../app/index.ts';
import { useBrowser } from '../support/browser.ts';
import { close, listen } from '../support/listen.ts';
import { withUpstream } from '../support/upstream.ts';
import { finalProfile } from '../support/final-profile.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const PAGE = '<!doctype html><html lang="en"><title>Orders</title><h1>Order 7 – größer</h1></html>';

describe('a HAR in Chromium', () => {
  const browser = useBrowser();
  const upstream = withUpstream((_req, res) => res.end('{}'));
  let folder = '';

  before(() => {
    folder = freshFolder();
  });

  /** Records a page, stores its HAR, and closes the server. */
  async function record(): Promise<{ url: string; file: string }> {
    const profiler = createProfiler({ toolbar: false, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/orders/:id', async (_request, response) => {
      await (await fetch(`${upstream()}/rates`)).text();
      response.status(201).type('html').send(PAGE);
    });
    const { server, origin } = await listen(app);
    const url = `${origin}/orders/7?page=2`;
    const { token } = await finalProfile(profiler, await fetch(url));
    const file = join(folder, `${token}.har`);
    writeFileSync(file, await (await fetch(`${origin}/_profiler/${token}.har`)).text());
    await close(server, profiler);
    return { url, file };
  }

  it('is read and replayed: the page with its status, title and text', async () => {
    const { url, file } = await record();
    const { page } = await browser.open();
    await page.context().routeFromHAR(file, { notFound: 'abort' });
    const response = await page.goto(url);
    expect(response?.status()).to.equal(201);
    expect(await page.title()).to.equal('Orders');
    expect(await page.locator('h1').textContent()).to.equal('Order 7 – größer');
    const other = await page.goto(url.replace('orders/7', 'orders/8')).catch(() => null);
    expect(other).to.equal(null);
    await page.close();
  });
});
