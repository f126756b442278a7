/** Includes and partials of other engines than EJS, with the real ones, in an application behind `hindsight(app)`. */
import { writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { load as html } from 'cheerio';
import express, { type Express } from 'express';
import { hindsight, type Profiler } from '../../app/index.ts';
import type { ViewsData } from '../../app/panels/views/data.ts';
import { loadFrom } from './cases.ts';
import { listen } from '../support/listen.ts';
import { freshFolder } from '../support/fresh-folder.ts';

type Engine = (path: string, options: object, callback: (error: Error | null, html?: string) => void) => void;
interface Eta {
  Eta: new (options: object) => {
    compile(template: string): (data?: object) => unknown;
    render(name: string, data: object): string;
  };
}

const FILES = {
  'page.pug': 'extends layout\nblock content\n  each i in [1, 2]\n    include row\n',
  'layout.pug': 'main\n  block content\n',
  'row.pug': 'p= i\n',
  'page.hbs': '<main>{{#each items}}{{> row}}{{/each}}{{> row}}</main>',
  'row.hbs': '<p>{{this.id}}</p>',
  'page.eta': '<main><%~ include("./list", { items: it.items }) %></main>',
  'list.eta': '<% for (const item of it.items) { %><%~ include("./row", item) %><% } %>',
  'row.eta': '<p><%= it.id %></p>',
};

describe('views of engines other than EJS', () => {
  const load = loadFrom({ folder: 'current', library: 'pug' });
  let folder: string;
  let app: Express;
  let profiler: Profiler;
  let server: Server | undefined;

  before(async () => {
    folder = freshFolder();
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
  });
  beforeEach(() => {
    app = express();
    profiler = hindsight(app, { enabled: true });
    app.set('views', folder);
    app.get('/', (_req, res) => {
      res.render('page', { items: [{ id: 1 }, { id: 2 }] });
    });
  });
  afterEach(async () => {
    server?.close();
    server = undefined;
    await profiler.close();
  });

  async function seen(): Promise<{ text: string; views: ViewsData['views']; page: string }> {
    ({ server } = await listen(app));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const response = await fetch(origin);
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const found = await profiler.profiles.read(response.headers.get('x-debug-token') ?? '');
    const link = response.headers.get('x-debug-token-link') ?? '';
    const shown = await fetch(`${new URL(link, origin).href}?panel=views`, {
      headers: { accept: 'text/html' },
    });
    return {
      text,
      views: (found?.profile.panels.views?.data as ViewsData | null | undefined)?.views ?? [],
      page: await shown.text(),
    };
  }

  const treeOf = (views: ViewsData['views']): unknown[] => views.map(({ name, depth, parent }) => [name, depth, parent]); // prettier-ignore

  it('names the files that Pug compiled into a page', async () => {
    app.set('view engine', 'pug').engine('pug', (load?.('pug') as { __express: Engine }).__express);
    const { text, views, page } = await seen();
    expect(text).to.equal('<main><p>1</p><p>2</p></main>');
    expect(treeOf(views)).to.deep.equal([['page', 0, null]]);
    expect(views[0]?.file).to.equal(join(folder, 'page.pug'));
    expect([...(views[0]?.includes ?? [])].sort()).to.deep.equal(['layout.pug', 'row.pug']);
    expect(html(page)('main').text()).to.match(new RegExp(`Includes\\s*${views[0]?.includes?.join(', ')}`));
  });

  it('times each partial of Handlebars, from its first run on', async () => {
    const hbs = load?.('hbs') as {
      create(): { __express: Engine; registerPartial(name: string, text: string): void };
    };
    const own = hbs.create();
    own.registerPartial('row', FILES['row.hbs']);
    app.set('view engine', 'hbs').engine('hbs', own.__express);
    const { text, views } = await seen();
    expect(text).to.equal('<main><p>1</p><p>2</p><p></p></main>');
    expect(treeOf(views)).to.deep.equal([['page', 0, null], ['row', 1, 0], ['row', 1, 0], ['row', 1, 0]]); // prettier-ignore
    for (const { durationMs } of views) expect(durationMs).to.be.a('number');
  });

  it('nests the includes of an Eta that was passed in', async () => {
    const { Eta: Library } = load?.('eta') as Eta;
    const eta = new Library({ views: folder });
    profiler.watchEngine(eta);
    app.set('view engine', 'eta').engine('eta', (path, options, callback) => {
      callback(null, eta.render(path.slice(folder.length, -'.eta'.length), options));
    });
    const { text, views } = await seen();
    expect(text).to.equal('<main><p>1</p><p>2</p></main>');
    expect(treeOf(views)).to.deep.equal([['page', 0, null], ['list.eta', 1, 0], ['row.eta', 2, 1], ['row.eta', 2, 1]]); // prettier-ignore
    expect(views[0]?.file).to.equal(join(folder, 'page.eta'));
  });
});
