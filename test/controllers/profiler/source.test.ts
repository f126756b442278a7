/** The source of a place: shown for places that the profile holds, and for nothing that a client or a stack names. */
import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import { symlinkSync, writeFileSync, mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../../app/index.ts';
import { urls } from '../../../app/urls.ts';
import { placeKey } from '../../../app/view-helpers/editor.ts';
import { close, listen } from '../../support/listen.ts';
import { withQuietConsole } from '../../support/quiet-console.ts';
import { freshFolder } from '../../support/fresh-folder.ts';

describe('the source of a place', () => {
  withQuietConsole();
  let root: string;
  let address: string;
  let end: () => Promise<void>;

  beforeEach(() => {
    root = freshFolder();
    mkdirSync(join(root, 'src', '.hidden'), { recursive: true });
    const lines = Array.from({ length: 60 }, (_value, index) => `const line${index + 1} = ${index + 1};`);
    lines[29] = "log('paid'); const password = 'hunter2-in-source';";
    writeFileSync(join(root, 'src', 'orders.ts'), lines.join('\n'));
    writeFileSync(join(root, 'src', 'private.ts'), 'const top = 1;');
    writeFileSync(join(root, '.env'), 'APP_SECRET=1');
    writeFileSync(join(root, 'src', '.hidden', 'x.ts'), 'const hidden = 1;');
    writeFileSync(join(root, 'data.json'), '{}');
    symlinkSync('/etc/passwd', join(root, 'src', 'link.ts'));
  });
  afterEach(async () => {
    await end();
  });

  /** A host below `root`; `handle` records what it likes. */
  async function start(
    handle: (profiler: Profiler, req: express.Request) => void,
    options: ProfilerOptions = {},
  ): Promise<void> {
    const profiler = createProfiler({
      root,
      observe: false,
      toolbar: false,
      warn: () => undefined,
      ...options,
    });
    const app = express();
    app.use(profiler.watch, profiler.pages, express.json());
    app.all('/', (req, res) => {
      handle(profiler, req);
      res.send('done');
    });
    app.use(profiler.errors);
    const { server } = await listen(app);
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    end = () => close(server, profiler);
  }

  async function send(init: RequestInit = {}, path = '/'): Promise<string> {
    const response = await fetch(address + path, init);
    await response.text();
    return response.headers.get('x-debug-token') ?? '';
  }

  const get = (token: string, place: string): Promise<Response> =>
    fetch(address + urls.source(token, placeKey(place)));

  function logged(profiler: Profiler, caller: string): void {
    profiler.fact('log', {
      level: 'info',
      channel: 'shop',
      message: 'paid order 7',
      context: null,
      caller,
      atMs: 1,
    });
  }

  it('has thirty lines with the place marked, secrets masked, and what was logged there', async () => {
    await start((profiler) => {
      logged(profiler, 'src/orders.ts:30');
      logged(profiler, 'src/orders.ts:31');
    });
    const response = await get(await send(), 'src/orders.ts:30');
    expect(response.status).to.equal(200);
    const $ = load(await response.text());
    expect($('#source-h').text()).to.equal('src/orders.ts:30');
    expect($('pre .hot').text()).to.include('paid').and.not.include('hunter2');
    expect($('pre').text()).to.include('line15').and.include('line45').and.not.include('line46');
    expect($('#at-log-lines, #source table').first().text()).to.include('paid order 7');
    expect($('#source table tbody tr').length).to.equal(1);
    expect($('.note.warn').length, 'unchanged').to.equal(0);
  });

  it('says so if the file was changed since, or can not be read', async () => {
    await start((profiler) => {
      for (const place of ['src/orders.ts:30', 'src/gone.ts:3', 'src/orders.ts:900']) logged(profiler, place);
    });
    const token = await send();
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(join(root, 'src', 'orders.ts'), 'x\n'.repeat(50));
    expect(load(await (await get(token, 'src/orders.ts:30')).text())('.note.warn').text()).to.include(
      'changed',
    );
    for (const place of ['src/gone.ts:3', 'src/orders.ts:900'])
      expect(load(await (await get(token, place)).text())('.empty').text()).to.include('can’t be read');
  });

  it('is not shown of what a client sent, wherever it is recorded', async () => {
    const place = 'src/private.ts:1';
    await start((profiler, req) => {
      profiler.dump({ place, source: place, caller: place, body: req.body as unknown }, place);
      logged(profiler, 'src/orders.ts:30');
    });
    const body = JSON.stringify({ place, source: place, file: place, caller: place, nested: { place } });
    const headers = {
      'content-type': 'application/json',
      referer: place,
      'x-place': place,
      cookie: `a=${place}`,
    };
    const token = await send({ method: 'POST', body, headers }, `/?place=${place}&source=${place}`);
    expect((await get(token, place)).status).to.equal(404);
    for (const wrong of ['src/private.ts:1', '../src/private.ts', '%2e%2e%2f.env', '.env', ''])
      expect((await fetch(`${address}/_profiler/${token}/source/${wrong}`)).status, wrong).to.equal(404);
    expect(
      (await fetch(`${address}/_profiler/${token}/source/${placeKey('src/orders.ts:30')}`)).status,
    ).to.equal(200);
    expect((await get('abcdef', 'src/orders.ts:30')).status, 'another token').to.equal(404);
  });

  it('is never that of a hidden file, of one outside the application, or of data', async () => {
    const places = [
      '.env:1',
      'src/.hidden/x.ts:1',
      '../outside.ts:1',
      '/etc/passwd:1',
      'data.json:1',
      'node_modules/x/a.js:1',
    ];
    await start((profiler) => {
      for (const place of [...places, 'src/link.ts:1']) logged(profiler, place);
    });
    const token = await send();
    for (const place of places) expect((await get(token, place)).status, place).to.equal(404);
    const $ = load(await (await get(token, 'src/link.ts:1')).text());
    expect($('pre').length, 'a link that leads outside').to.equal(0);
  });

  it('is for those only who may see the pages', async () => {
    await start((profiler) => {
      logged(profiler, 'src/orders.ts:30');
    }, { password: 'open sesame, please' }); // prettier-ignore
    const token = await send();
    const path = address + urls.source(token, placeKey('src/orders.ts:30'));
    expect((await fetch(path)).status).to.equal(401);
    const authorization = `Basic ${Buffer.from('any:open sesame, please').toString('base64')}`;
    expect((await fetch(path, { headers: { authorization } })).status).to.equal(200);
  });
});
