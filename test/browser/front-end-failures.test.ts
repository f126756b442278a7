/** Failures of a front end in a real browser: where there is a cause on the server, both places are named; where there is none, no line is. */
import { expect } from 'chai';
import express, { type Request, type Response } from 'express';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RequestListener } from 'node:http';
import { createProfiler, type Finding, type Profiler } from '../../app/index.ts';
import { packageRoot } from '../../app/paths.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import { close, listen } from '../support/listen.ts';
import { until } from '../support/waiting.ts';

const SCRIPTS = join(packageRoot(), 'test', 'support', 'front-end');
const ORDER = {
  id: 7,
  client: { name: 'A' },
  invoice: null,
  lines: { first: 1 },
  price: '9.90',
  buyer: { id: 1 },
};

function addRoutes(app: express.Express): void {
  app.get('/page', function showPage(req, res) {
    if (req.query.policy !== undefined)
      res.set('content-security-policy', "default-src 'self'; connect-src 'self'; img-src 'self' data:");
    res
      .type('html')
      .send(
        `<!doctype html><html lang="en"><title>Page</title><link rel="icon" href="data:,"><script src="/static/app.js" defer></script><main>Page</main></html>`,
      );
  });
  app.use('/static', express.static(SCRIPTS));
  app.use('/files', express.static(SCRIPTS), function noSuchFile(_req: Request, res: Response) {
    res.status(404).send('no such file');
  });
  app.post('/api/refused', function refuse(_req, res) {
    res.status(500).json({ error: 'card refused' });
  });
  app.get('/api/order', function showOrder(_req, res) {
    res.json(ORDER);
  });
  app.get('/api/list', function showList(_req, res) {
    res.json({ items: [{ id: 1, stock: { count: 1 } }, { id: 2 }], found: [] });
  });
  app.get('/api/empty', function sendNothing(_req, res) {
    res.status(200).type('json').end();
  });
  app.get('/api/private', function toSignIn(_req, res) {
    res.redirect('/sign-in');
  });
  app.get('/sign-in', function signIn(_req, res) {
    res.type('html').send('<!doctype html><html lang="en"><title>Sign in</title></html>');
  });
  app.get('/api/closed', function closeIt(req) {
    req.socket.destroy();
  });
  app.get('/api/cut', function cutIt(req, res) {
    res.type('json').set('content-length', '100').write('{"a":');
    setTimeout(() => req.socket.destroy(), 20);
  });
  app.get('/api/loop', function goRound(_req, res) {
    res.redirect('/api/loop');
  });
  app.use('/shared', function allowAny(_req, res, next) {
    res.set({ 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET' });
    next();
  });
  app.options('/shared/order', function answerPreflight(_req, res) {
    res.sendStatus(204);
  });
  app.get('/shared/order', function sharedOrder(_req, res) {
    res.json(ORDER);
  });
  app.get('/spa/*rest', function everyPath(_req, res) {
    res.type('html').send('<!doctype html><html lang="en"><title>App</title></html>');
  });
  app.use(function notFound(_req: Request, res: Response) {
    res.status(404).type('html').send('<!doctype html><html lang="en"><title>Not found</title></html>');
  });
}

/** Name, the words of the finding, and the line that it names, whole or by what it has. */
const CAUSED: readonly (readonly [name: string, said: string, place: string])[] = [
  [
    'errorBody',
    'read “order” of the response of POST /api/refused (500), whose body has only “error”',
    "error: 'card refused'",
  ],
  [
    'renamedField',
    'read “customer” of the response of GET /api/order (200), whose body has only “id”',
    'res.json(ORDER);',
  ],
  [
    'nullField',
    'read “invoice” of the response of GET /api/order (200), where it is null',
    'res.json(ORDER);',
  ],
  [
    'notAList',
    'read “lines” of the response of GET /api/order (200), where it is an object',
    'res.json(ORDER);',
  ],
  [
    'textForNumber',
    'read “price” of the response of GET /api/order (200), where it is a text',
    'res.json(ORDER);',
  ],
  [
    'missingInElement',
    'read “items[].stock” of the response of GET /api/list (200), where the object has only “id”',
    'res.json({ items: [{ id: 1, stock: { count: 1 } }, { id: 2 }], found: [] });',
  ],
  [
    'emptyList',
    'read “found[]” of the response of GET /api/list (200), where the list is empty',
    'res.json({ items: [{ id: 1, stock: { count: 1 } }, { id: 2 }], found: [] });',
  ],
  ['xhrField', 'read “shipping” of the response of GET /api/order (200), whose body', 'res.json(ORDER);'],
  [
    'argument',
    'read “buyer.address” of the response of GET /api/order (200), where the object has only “id”',
    'res.json(ORDER);',
  ],
  ['latePage', 'parsed a response as JSON, but that of GET /api/gone (404) is a page of HTML', 'Not found'],
  ['lateSignIn', 'parsed a response as JSON, but that of GET /sign-in (200) is a page of HTML', 'Sign in'],
  [
    'empty',
    'parsed a response as JSON, but that of GET /api/empty (200) has no body',
    "res.status(200).type('json').end();",
  ],
  [
    'cors',
    'GET /api/order (200) was responded to by showOrder, and Access-Control-Allow-Origin was not sent',
    'showOrder',
  ],
  [
    'corsHeader',
    'the preflight OPTIONS /shared/order (204) was responded to by allowAny, and Access-Control-Allow-Headers does not have authorization',
    'allowAny',
  ],
  [
    'corsCookies',
    'GET /shared/order (200) was responded to by allowAny, and Access-Control-Allow-Origin is *, which is not valid with credentials',
    'allowAny',
  ],
  ['closed', 'closeIt did not complete the response of GET /api/closed', 'closeIt'],
  [
    'cutOff',
    'cutIt did not complete the response of GET /api/cut (200)',
    "res.type('json').set('content-length', '100').write('{\"a\":');",
  ],
  ['xhrClosed', 'closeIt did not complete the response of GET /api/closed', 'closeIt'],
  ['loop', 'GET /api/loop (302) redirects to itself', "res.redirect('/api/loop');"],
  [
    'missingScript',
    'asked for a <script> that is missing: GET /files/missing.js (404), responded to by noSuchFile',
    'no such file',
  ],
  ['pageAsScript', 'asked for a <script>, and everyPath sent text/html: GET /spa/main.js (200)', 'App'],
  [
    'policyCall',
    'needs https://tracking.example, which connect-src of the content-security-policy that showPage set does not allow',
    'showPage',
  ],
  [
    'policyImage',
    'needs https://images.example, which img-src of the content-security-policy that showPage set does not allow',
    'showPage',
  ],
];
const OF_PAGE = new Set(['missingScript', 'pageAsScript', 'policyImage']);

const OWN = [
  'noElement', 'settings', 'stored', 'undefinedName', 'wrongKind', 'ownTypo', 'thrown', 'rejected', 'range', 'otherSite',
  'lateLog', 'cache', 'parameter',
]; // prettier-ignore

const HERE = readFileSync(import.meta.filename, 'utf8').split('\n');

/** `file:line` of a function in this file, of a text in a call of it, or of a whole line. */
function lineOf(name: string): string {
  const texts = [`function ${name}(`, `({ ${name} })`, `('${name}')`, `>${name}</title>`];
  const line = HERE.findIndex((text) => text.trim() === name || texts.some((one) => text.includes(one)));
  return `test/browser/front-end-failures.test.ts:${line + 1}`;
}

describe('failures of a front end', () => {
  const browser = useBrowser();
  let opened: OpenPage;
  let profiler: Profiler;
  let host: Awaited<ReturnType<typeof listen>>;
  let origin = '';

  before(async () => {
    profiler = createProfiler({ warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    addRoutes(app);
    host = await listen(app as RequestListener);
    origin = host.origin.replace('127.0.0.1', 'localhost');
    opened = await browser.open();
    // The first of both loads what the others find loaded.
    await fetch(`${origin}/_profiler/toolbar.js`);
  });
  after(async () => {
    await close(host.server);
    await profiler.close();
  });

  /** Runs one, and waits until its report is stored beside the page. */
  async function failed(name: string): Promise<{ profile: Profile; found: readonly Finding[] }> {
    const { page } = opened;
    const path = `/page?case=${name}${name.startsWith('policy') ? '&policy' : ''}`;
    await page.goto(`${origin}${path}`);
    let profile: Profile | undefined;
    await until(async () => {
      const { rows } = await profiler.profiles.find({ url: path, limit: 1, offset: 0 });
      profile = (await profiler.profiles.read(rows[0]?.token ?? ''))?.profile;
      return (profile?.panels.browser?.data ?? null) !== null;
    }, `the report of ${name}`);
    if (profile === undefined) throw new Error('There is no profile.');
    return { profile, found: profile.findings.filter(({ rule }) => rule === 'browser-failed') };
  }

  for (const [name, said, place] of CAUSED)
    it(`names both places: ${name}`, async () => {
      const { found } = await failed(name);
      expect(found.length, JSON.stringify(found)).to.equal(1);
      expect(found[0]?.sentence).to.contain(said);
      expect(found[0]?.sentence).to.match(
        OF_PAGE.has(name) ? /^\/page / : /^test\/support\/front-end\/app\.js:\d+ /,
      );
      expect(found[0]?.place).to.equal(lineOf(place));
    });

  for (const name of OWN)
    it(`accuses no line of the server: ${name}`, async () => {
      const { profile, found } = await failed(name);
      const places = profile.findings.map((finding) => finding.place ?? '');
      expect(places.filter((place) => place.startsWith('test/browser/'))).to.deep.equal([]);
      expect(found.map(({ sentence }) => sentence).join()).not.to.contain('/api/');
    });
});
