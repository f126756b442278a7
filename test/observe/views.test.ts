import { writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import ejs from 'ejs';
import express, { type Express } from 'express';
import request from 'supertest';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { observeViews, type ViewObserver } from '../../app/observe/views.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('views as they are observed', () => {
  const tracker = new ContextTracker();
  let folder: string;
  let observer: ViewObserver;
  let contexts: Context[];

  before(async () => {
    folder = freshFolder();
    await mkdir(join(folder, 'parts'));
    await writeFile(
      join(folder, 'page.ejs'),
      `<h1><%= title %></h1><%- include('parts/list', { items: [1, 2] }) %>`,
    );
    await writeFile(
      join(folder, 'parts/list.ejs'),
      `<% for (const i of items) { %><%- include('row', { i }) %><% } %>`,
    );
    await writeFile(join(folder, 'parts/row.ejs'), '<li><%= i %></li>');
    await writeFile(join(folder, 'broken.ejs'), '<%= nowhere.name %>');
  });
  beforeEach(() => {
    contexts = [];
    observer = observeViews({ tracker, findCaller: createCallerFinder(), root: process.cwd() });
  });
  afterEach(() => {
    observer.close();
  });

  function createHost(): Express {
    const app = express();
    app.set('views', [folder]).set('env', 'test');
    app.engine('ejs', (...args) => void ejs.renderFile(...(args as Parameters<typeof ejs.renderFile>)));
    app.set('view engine', 'ejs');
    app.use((_req, _res, next) => {
      const context = new Context({ token: String(contexts.length), kind: 'request' });
      contexts.push(context);
      tracker.run(context, next);
    });
    return app;
  }

  it('sees the page of an application that another one calls, not mounts', async () => {
    const inner = createHost();
    const outer = express();
    outer.use((req, res, next) => {
      inner(req, res, next);
    });
    inner.get('/', (_req, res) => {
      res.render('page', { title: 'List' });
    });
    observer.watchLibrary(express);
    observer.watchApp(outer);
    await request(outer).get('/').expect(200);
    const [page, ...others] = contexts[0]?.all('view') ?? [];
    expect(page).to.include({ name: 'page', depth: 0, engine: 'ejs' });
    expect(page?.caller).to.match(/^test\/observe\/views\.test\.ts:\d+$/);
    expect(page?.durationMs).to.be.a('number');
    expect(others).to.deep.equal([]);
  });

  it('ends a partial of a page that is no view', () => {
    // As Handlebars does, whose environments share `VM`.
    const VM = { template: (spec: () => string) => (_data: unknown, _options: unknown) => spec() };
    observer.watchLibrary({ VM });
    const context = new Context({ token: 'a', kind: 'request' });
    const partial = VM.template(() => 'arrow');
    tracker.run(context, () => {
      for (const name of ['header', 'footer']) partial({}, { partial: true, name });
    });
    const views = context.all('view').map(({ name, depth, durationMs }) => [name, depth, typeof durationMs]);
    expect(views).to.deep.equal([
      ['header', 0, 'number'],
      ['footer', 0, 'number'],
    ]);
  });

  it('lists the page and its partials as a tree, with time, locals and caller', async () => {
    const app = createHost();
    observer.watchApp(app);
    observer.watchEngine(ejs);
    app.get('/', (_req, res) => {
      res.locals.user = 'Amira';
      res.render('page', { title: 'Hello', list: () => [] });
    });
    const { text } = await request(app).get('/').expect(200);
    expect(text).to.equal('<h1>Hello</h1><li>1</li><li>2</li>');
    const views = contexts[0]?.all('view') ?? [];
    expect(views.map(({ name, depth, parent }) => [name, depth, parent])).to.deep.equal([
      ['page', 0, null],
      ['parts/list.ejs', 1, 0],
      ['parts/row.ejs', 2, 1],
      ['parts/row.ejs', 2, 1],
    ]);
    const [page] = views;
    expect(page?.file).to.equal(join(folder, 'page.ejs'));
    expect({ ...(page?.locals as object) }).to.deep.equal({ user: 'Amira', title: 'Hello' });
    expect(page?.caller).to.match(/^test\/observe\/views\.test\.ts:\d+$/);
    expect(views.every(({ durationMs }) => durationMs !== null && durationMs >= 0)).to.equal(true);
  });

  it('watches applications that are mounted later, through res.render', async () => {
    const app = createHost();
    observer.watchApp(app);
    const inner = express();
    inner.set('views', [folder]).set('view engine', 'ejs');
    inner.get('/', (_req, res) => {
      res.render('page', { title: 'Inner' });
    });
    app.use('/inner', inner);
    await request(app).get('/inner').expect(200);
    expect(contexts[0]?.all('view').map(({ name }) => name)).to.deep.equal(['page']);
  });

  it('records what a template throws, and lets it pass', async () => {
    const app = createHost();
    observer.watchApp(app);
    app.get('/', (_req, res) => {
      res.render('broken');
    });
    await request(app).get('/').expect(500);
    expect(contexts[0]?.first('view')?.error).to.contain('nowhere is not defined');
  });

  it('lets a page be rendered whose locals throw when they are looked at', async () => {
    const app = createHost();
    observer.watchApp(app);
    observer.watchEngine(ejs);
    app.get('/', (_req, res) => {
      const locals = new Proxy(
        { title: 'odd' },
        {
          getOwnPropertyDescriptor(target, name) {
            if (new Error().stack?.includes('localsOf') === true) throw new Error('do not look');
            return Reflect.getOwnPropertyDescriptor(target, name);
          },
        },
      );
      res.render('page', locals);
    });
    await request(app).get('/').expect(200, '<h1>odd</h1><li>1</li><li>2</li>');
  });

  it('does not see pages of the profiler, nor anything once closed', async () => {
    const app = createHost();
    const compile = ejs.compile;
    observer.watchApp(app);
    observer.watchEngine(ejs);
    const page = new Context({ token: 'aaaaaa', kind: 'profiler' });
    tracker.run(page, () => ejs.render('<%= 1 %>', {}, { filename: join(folder, 'own.ejs') }));
    expect(page.all('view')).to.have.length(0);
    observer.close();
    expect(ejs.compile).to.equal(compile);
    expect(app.render).to.equal(express.application.render);
    app.get('/', (_req, res) => {
      res.render('page', { title: 'x' });
    });
    await request(app).get('/').expect(200);
    expect(contexts[0]?.all('view')).to.have.length(0);
  });
});
