import { load, type CheerioAPI } from 'cheerio';
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createErrorPage } from '../../../app/controllers/errors/error-page.ts';
import { createError, HindsightError } from '../../../app/errors.ts';
import type { Context } from '../../../app/profiler/record/context.ts';
import { panelHtml } from '../../support/panel-data.ts';
import {
  exceptionPanel,
  pageInput,
  renderErrorPage,
  rendererOf,
  type FailedRequest,
} from '../../support/error-page.ts';
import { freshFolder } from '../../support/fresh-folder.ts';

const table = [
  { method: 'GET', pattern: '/humans.txt', handler: 'humans', source: 'src/app.ts:37' },
  { method: 'GET', pattern: '/orders/:id', handler: 'show', source: 'src/orders.ts:9' },
];

function routeMiss(path: string, method = 'GET', more: Partial<FailedRequest> = {}): FailedRequest {
  const error = new HindsightError('ROUTE_NOT_FOUND', `No route found for "${method} ${path}"`, {
    status: 404,
    cause: createError('ROUTE_MISS', [`${path}/`]),
  });
  return { error, status: 404, url: path, method, ...more };
}

function noteRoutes(context: Context): void {
  context.add('routing', {
    table,
    nearest: [
      {
        ...table[0],
        method: 'GET',
        pattern: '/humans.txt',
        handler: 'humans',
        source: 'src/app.ts:37',
        reason: 'spelling',
        distance: 2,
      },
    ],
    considered: null,
    secondTry: { path: '/robots.txt/', matched: false },
    redirect: null,
    allow: [],
  });
}

function route(pattern: string, depth: number, source: string) {
  return { kind: 'route', name: 'x', pattern, methods: ['GET'], verdict: 'path', depth, source } as const;
}

function entered(pattern: string) {
  return {
    kind: 'router', name: 'router', pattern, methods: [], verdict: 'entered', depth: 0, source: 'src/app.ts:2',
  } as const; // prettier-ignore
}

function ranLayer(name: string) {
  return {
    name, kind: 'middleware', pattern: '/', method: null, source: null, depth: 0, startMs: 0, durationMs: 1,
    settledMs: null, nextMs: 1, outcome: 'next', error: false,
  } as const; // prettier-ignore
}

function page(request: FailedRequest): CheerioAPI {
  return load(renderErrorPage(request));
}

function attributesOf($: CheerioAPI, element: Parameters<CheerioAPI>[0]): string[] {
  return Object.keys($(element).attr() ?? {});
}

describe('the page of an error', () => {
  it('says message and status in the title, the heading and both ends', () => {
    const html = renderErrorPage({ error: new Error('Could not place order'), url: '/checkout' });
    const $ = load(html);
    const line = '<!-- Could not place order (500 Internal Server Error) -->';
    expect($('title').text()).to.equal('Could not place order (500 Internal Server Error) · Hindsight');
    expect($('h1').text()).to.equal('Could not place order');
    expect($('.kind .status').text()).to.equal('500');
    const lines = html.trimEnd().split('\n');
    expect(lines[0]).to.equal(line);
    expect(lines.at(-1)).to.equal(line);
  });

  it('shows the line in own code with its excerpt, and links both profiles', () => {
    const $ = page({ error: new Error('here'), url: '/x', child: '5d1f0a' });
    expect($('#error-1-where').text()).to.match(/test\/controllers\/errors\/error-page\.test\.ts:\d+/);
    expect($('#error-1-link-1 .hot').text()).to.include("new Error('here')");
    const links = $('.facts a')
      .toArray()
      .map((element) => $(element).attr('href'));
    expect(links).to.deep.equal(['/_profiler/9be04d', '/_profiler/5d1f0a']);
  });

  it('shows the same panel as the profile', () => {
    const request = { error: new TypeError('outer', { cause: new Error('inner') }), url: '/x' };
    const input = pageInput(request);
    const profilePanel = load(panelHtml(rendererOf(), exceptionPanel, { profile: input.profile }));
    const $ = page(request);
    expect($('#error-1-link-2 .frames').length).to.equal(1);
    expect($('#error-1-trace pre').text()).to.equal(profilePanel('#error-1-trace pre').text());
    expect($('.chain li').length).to.equal(profilePanel('.chain li').length);
  });

  it('needs no script and brings none of its own', () => {
    const $ = page({ error: new Error('m'), url: '/x' });
    expect($('script:not([src])').length).to.equal(0);
    expect($('style').length).to.equal(0);
    expect($('[style]').length).to.equal(0);
    const handlers = $('*')
      .toArray()
      .flatMap((element) => attributesOf($, element).filter((name) => name.startsWith('on')));
    expect(handlers).to.deep.equal([]);
    for (const element of $('script[src], link[rel=stylesheet], link[rel=icon]').toArray())
      expect($(element).attr('src') ?? $(element).attr('href')).to.match(/^\/_profiler\/assets\//);
  });

  it('keeps its comments in one piece', () => {
    const html = renderErrorPage({ error: new Error('a -- b --> c <!-- d\n--'), url: '/x' });
    const first = html.split('\n', 1)[0] ?? '';
    expect(first).to.match(/^<!-- .* -->$/);
    expect(first.slice(4, -3)).not.to.match(/--|>/);
  });

  it('shows nothing of the environment', () => {
    const value = ['value', 'of', 'the', 'environment'].join('-');
    process.env.HINDSIGHT_TEST_VALUE = value;
    const html = renderErrorPage({ error: new Error('m'), url: '/x' });
    delete process.env.HINDSIGHT_TEST_VALUE;
    expect(html).not.to.include(value);
    expect(html).not.to.include(process.env.PATH);
  });

  it('shows all of five causes of thirty frames each, and the beginning of a message of ten megabytes', () => {
    const root = freshFolder();
    const line =
      '  const total = await computeTheTotalOf(order.items, { currency: order.currency, round: true });';
    writeFileSync(join(root, 'own.ts'), `${line}\n`.repeat(200));
    let error: Error | undefined;
    for (let link = 0; link < 6; link++) {
      const outer: Error = new Error(
        `${link} `.repeat(link === 5 ? 5_000_000 : 200),
        error && { cause: error },
      );
      const frames = Array.from({ length: 30 }, (_value, index) =>
        index % 3 === 0
          ? `    at ownFunctionNumber${link}${index} (${root}/own.ts:${(index + link) * 4 + 1}:9)`
          : `    at Library.method${link}${index} (${root}/node_modules/library${index % 7}/lib/some/path.js:${index}:${link + 1})`,
      );
      outer.stack = `Error: ${outer.message}\n${frames.join('\n')}`;
      error = outer;
    }
    const html = renderErrorPage({ error, url: `/${'x'.repeat(16_000)}` }, root);
    const $ = load(html);
    expect($('.chain li').length).to.equal(6);
    expect($('.frames > li').length).to.be.above(60);
    expect(Buffer.byteLength(html)).to.be.below(1024 * 1024);
  });

  it('shows each of ten errors with its causes, its properties, and the last log lines', () => {
    const failure = (name: string): Error => {
      let error: Error | undefined;
      for (let link = 0; link < 3; link++) {
        const outer: Error = new Error(`${name} ${link} ${'word '.repeat(100)}`, error && { cause: error });
        outer.stack = `Error: ${outer.message}\n    at f (/lib/${name}/${link}.js:1:1)`;
        error = Object.assign(outer, { field: 'v'.repeat(3000) });
      }
      return error ?? new Error(name);
    };
    const prepare = (context: Context): void => {
      for (let index = 0; index < 9; index++)
        context.add('error', { error: failure(`e${index}`), origin: 'late', atMs: 1, status: null });
      for (let index = 0; index < 100; index++)
        context.add('log', {
          level: 'info',
          channel: 'c',
          message: 'm',
          context: null,
          caller: null,
          atMs: index,
        });
    };
    const $ = page({ error: failure('answered'), url: '/x', prepare });
    expect($('main > article.err').length).to.equal(10);
    expect($('.chain li').length).to.equal(30);
    expect($('#error-logs tbody tr').length).to.equal(20);
    expect($('h1').text()).to.include('answered');
  });

  for (const [name, error] of Object.entries({
    null: null,
    'a string': 'only words',
    'an empty message': new Error(''),
    'an error without a stack': Object.assign(new Error('bare'), { stack: undefined }),
    'a cause that comes back': (() => {
      const one = new Error('one');
      one.cause = one;
      return one;
    })(),
    'an AggregateError': new AggregateError([new Error('a'), 'b', new Error('c', { cause: 'd' })], 'several'),
  })) {
    it(`is made of ${name}`, () => {
      const $ = page({ error, url: '/x' });
      expect($('h1.msg').text().trim()).not.to.equal('');
      expect($('.kind b').text()).not.to.equal('');
    });
  }

  it('says what the chain began with below what was thrown, as large as a heading', () => {
    const middle = new Error('The rate could not be read.', { cause: new TypeError('reading value') });
    const $ = page({ error: new Error('The quote could not be made.', { cause: middle }), url: '/x' });
    expect($('h1 + .began').text()).to.equal('caused by TypeError: reading value');
    expect($($('.began a').attr('href')).text()).to.include('TypeError');
    expect(page({ error: new Error('alone'), url: '/x' })('.began').length).to.equal(0);
    expect(page(routeMiss('/x'))('.began').length).to.equal(0);
  });

  it('is made where the exception panel failed', () => {
    const input = pageInput({ error: new Error('lost'), url: '/x' });
    input.profile.panels.exception = { data: null, summary: null, error: 'TypeError: no' };
    const renderError = createErrorPage({
      renderPage: rendererOf(),
      panels: [exceptionPanel],
      foot: [],
      unknownTokenModel: () => null,
    });
    expect(load(renderError(input))('h1').text()).to.equal('lost');
  });
});

describe('the page of a request that no route answered', () => {
  it('names the nearest routes and why each did not match', () => {
    const $ = page(routeMiss('/robots.txt', 'GET', { prepare: noteRoutes }));
    expect($('h1').text()).to.equal('No route found for "GET /robots.txt"');
    expect($('#nearest tr.near').text()).to.include('/humans.txt').and.include('2 letters differ');
    expect($('#nearest tbody tr, #routes tbody tr').length, 'each route once').to.equal(2);
    expect($('.soft').first().text())
      .to.include('None of the 2 routes matches this path')
      .and.include('with or without a trailing slash');
    // Our own two errors are no chain, and a misspelled address needs no new route.
    expect($('.chain, #snippet')).to.have.length(0);
  });

  it('suggests a route only where the path can be written as one', () => {
    expect(page(routeMiss('/robots.txt'))('pre').text()).to.include("app.get('/robots.txt'");
    expect(page(routeMiss("/it's/:x"))('pre').text()).not.to.include('app.get');
  });

  for (const { what, path, considered, say, code } of [
    {
      what: 'the router that it came through',
      path: '/api/two',
      considered: [entered('/api'), route('/api/one', 1, 'src/api.ts:7'), route('/', 0, 'src/app.ts:3')],
      say: 'In the router mounted at /api, after its last route, src/api.ts:7:',
      code: "router.get('/two'",
    },
    {
      what: 'the application of a host',
      path: '/two',
      considered: [route('/one', 0, 'src/app.ts:3'), { ...entered('/api'), verdict: 'path' as const }],
      say: 'In the application, after its last route, src/app.ts:3:',
      code: "app.get('/two'",
    },
  ])
    it(`says where to add it: ${what}`, () => {
      const prepare = (context: Context): void => {
        const nothing = { table, nearest: null, secondTry: null, redirect: null, allow: [] };
        context.add('routing', { ...nothing, considered });
        context.add('layer', { ...ranLayer('router'), kind: 'router', pattern: '/api' });
      };
      const $ = page(routeMiss(path, 'GET', { prepare }));
      expect($('#snippet p').text()).to.equal(say);
      expect($('#snippet pre').text()).to.include(code);
    });

  it('suggests no route below the addresses of the profiler, such as a token with a digit too much', () => {
    expect(page(routeMiss('/_profiler/8e1471d', 'GET'))('#snippet').length).to.equal(0);
    expect(page(routeMiss('/profiler/8e1471d', 'GET'))('#snippet').length).to.equal(1);
  });

  it('suggests each request its own path, in the same colours', () => {
    const [one, other] = ['/one', '/other'].map((path) => page(routeMiss(path, 'POST'))('#snippet pre'));
    expect(one?.text()).to.include("app.post('/one', (req, res) => {");
    expect(other?.text()).to.include("app.post('/other', (req, res) => {");
    expect(other?.find('.s').first().text()).to.equal("'/other'");
    expect(other?.html()).to.equal(one?.html()?.replace('/one', '/other'));
  });

  it('names the methods of a path that exists', () => {
    const error = createError('METHOD_NOT_ALLOWED', ['DELETE', '/humans.txt', 'GET'], {
      headers: { allow: 'GET' },
    });
    const prepare = (context: Context): void => {
      const nothing = { table, nearest: null, considered: null, secondTry: null, redirect: null };
      context.add('routing', { ...nothing, allow: ['GET'] });
    };
    const $ = page({ error, status: 405, method: 'DELETE', url: '/humans.txt', prepare });
    expect($('title').text()).to.include('(405 Method Not Allowed)');
    expect($('.soft').first().text()).to.equal('This path only allows GET.');
  });

  it('counts the routes that it does not list', () => {
    const many = Array.from({ length: 1000 }, (_value, index) => ({
      method: 'GET',
      pattern: `/a-rather-long-route-name/${index}/:id`,
      handler: `handler${index}`,
      source: `src/routes/file-${index}.ts:${index}`,
    }));
    const prepare = (context: Context): void => {
      const nothing = { nearest: null, considered: null, secondTry: null, redirect: null, allow: [] };
      context.add('routing', { ...nothing, table: many });
    };
    const html = renderErrorPage(routeMiss('/x', 'GET', { prepare }));
    expect(load(html)('#routes .note').text()).to.include('more rows not shown');
  });

  it('is a welcome at the root, with the lines that answer it', () => {
    const prepare = (context: Context): void => {
      noteRoutes(context);
      context.add('layer', ranLayer('optionsRule'));
    };
    const $ = page(routeMiss('/', 'GET', { prepare }));
    expect($('h1').text()).to.equal('No route found for "GET /"');
    expect($('main').text()).to.include('app/routes/index.ts');
    expect($('pre').text()).to.include("Router().get('/'");
    expect($('main a[href="/_profiler/"]').length).to.equal(1);
    expect(page(routeMiss('/', 'POST', { prepare }))('main').text()).not.to.include('Your first route');
    expect(page(routeMiss('/'))('main').text(), 'a host').not.to.include('app/routes/index.ts');
  });
});

describe('the pages of the profiler’s own errors', () => {
  it('offer the panels there are', () => {
    const error = createError('UNKNOWN_PANEL', ['nope', 'abcdef']);
    const $ = page({ error, status: 404, url: '/_profiler/abcdef?panel=nope' });
    const links = $('main .views a')
      .toArray()
      .map((element) => $(element).attr('href'));
    expect(links).to.deep.equal(
      ['request', 'exception', 'routing'].map((name) => `/_profiler/abcdef?panel=${name}`),
    );
  });

  it('show the beginning of a long path as the headline', () => {
    const $ = page(routeMiss(`/${'x'.repeat(2000)}`));
    expect($('h1').text().length).to.be.within(250, 350);
  });

  for (const [code, status, what] of [
    ['UNAUTHORIZED', 401, 'PROFILER_PASSWORD'],
    ['FORBIDDEN', 403, 'authorize'],
  ] as const)
    it(`tell those who may not look how to get in, and nothing of the service: ${status}`, () => {
      const $ = page({ error: createError(code, []), status, url: '/_profiler/' });
      expect($('main').text()).to.include(what);
      expect($('h1').text()).to.equal(createError(code, []).message);
      expect($('.frames, pre, .foot span').length).to.equal(0);
      expect($.html()).not.to.match(/error-page\.test|node_modules/);
    });

  it('offer the search for an unknown token, by the model that travels with the error', () => {
    const error = createError('UNKNOWN_TOKEN', ['abcdef']);
    const renderError = createErrorPage({
      renderPage: (view, model) => `${view} ${JSON.stringify(model)}`,
      panels: [],
      foot: [],
      unknownTokenModel: (thrown) => (thrown === error ? { token: 'abcdef' } : null),
    });
    const html = renderError(pageInput({ error, status: 404, url: '/_profiler/abcdef' }));
    expect(html.split('\n')[1]).to.equal('errors/unknown-token {"token":"abcdef"}');
  });

  it('are plain errors where nothing better is known', () => {
    const $ = page({
      error: createError('UNKNOWN_TOKEN', ['abcdef']),
      status: 404,
      url: '/_profiler/abcdef',
    });
    expect($('h1').text()).to.equal('Token "abcdef" not found.');
  });
});
