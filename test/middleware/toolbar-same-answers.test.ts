/**
 * Seventy-odd responses over raw sockets, with the toolbar on and off: the same bytes, but for the tag in those that are documents, and for
 * the length of these where one is sent. Under Express 5, and each fifth under Express 4.
 */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Express, Request, Response } from 'express';
import {
  type Answer,
  EXPRESSES,
  type ExpressPackage,
  NAVIGATION,
  session,
  startToolbarHost,
} from '../support/raw-toolbar-host.ts';

const PAGE =
  '<!doctype html><html><head><title>ü</title></head><body><p>Grüße ☃ &amp;c. $& $1</p></body></html>\n';
const BIG = `<!doctype html><html><body>${'<p title="a > b">Row</p>\n'.repeat(200_000)}</body></html>`;
const folder = mkdtempSync(join(tmpdir(), 'hindsight-toolbar-'));
const TAG =
  /<script async src="\/_profiler\/toolbar\.js(?:\?v=[0-9a-f]{12})?" data-token="[0-9a-f]{6}"(?: nonce="[^"]*")?(?: data-connect="no")? *data-hindsight *><\/script>(?:<script(?: nonce="[^"]*")?>[^<]*<\/script>)?/;

type Handler = (req: Request, res: Response) => unknown;
type Case = [name: string, handler: Handler, ask?: { headers?: Record<string, string>; method?: string }];

const html: Handler = (_req, res) => res.type('html');
const csp =
  (policy: string): Handler =>
  (_req, res) =>
    res.set('Content-Security-Policy', policy).send(PAGE);
const inPieces = (...pieces: (string | Buffer)[]): Handler => async (req, res) => {
  html(req, res);
  for (const piece of pieces) {
    res.write(piece);
    await setImmediate();
  }
  res.end();
}; // prettier-ignore

/** Those that get the tag. */
const DOCUMENTS: Case[] = [
  ['send', (_q, res) => res.send(PAGE)],
  ['sendBuffer', (_q, res) => res.type('html').send(Buffer.from(PAGE))],
  ['render', (_q, res) => res.render('page')],
  ['end', (q, res) => (html(q, res), res.end(PAGE))],
  ['endLatin', (_q, res) => res.setHeader('Content-Type', 'text/html; charset=iso-8859-1').end(PAGE.replace('☃', ''), 'latin1')],
  ['endHex', (q, res) => (html(q, res), res.end(Buffer.from(PAGE).toString('hex'), 'hex'))],
  ['endBase64', (q, res) => (html(q, res), res.end(Buffer.from(PAGE).toString('base64'), 'base64', () => undefined))],
  ['endBytes', (q, res) => (html(q, res), res.end(new Uint8Array(Buffer.from(PAGE))))],
  ['endWithLength', (q, res) => (html(q, res), res.setHeader('CONTENT-Length', Buffer.byteLength(PAGE)).end(PAGE))],
  ['pieces', inPieces(PAGE.slice(0, 20), Buffer.from(PAGE.slice(20, 70)), PAGE.slice(70))],
  ['cutHead', inPieces(PAGE.slice(0, 24), PAGE.slice(24))],
  ['cutContent', inPieces('<!doctype html>\n<', 'title>x</title>')],
  ['cutStart', inPieces('<!do', 'ctype html>x</body>')],
  ['piecesWithLength', (q, res) => {
    html(q, res);
    res.setHeader('content-length', String(Buffer.byteLength(PAGE)));
    res.write(PAGE.slice(0, 60));
    res.end(PAGE.slice(60));
  }],
  ['headWritten', (_q, res) => (res.writeHead(200, { 'Content-Type': 'text/html' }), res.end(PAGE))],
  ['noEndTags', (_q, res) => res.send('<!doctype html><title>x</title><p>x')],
  ['noEndTagsInPieces', inPieces('<!doctype html>', '<p>', 'x')],
  ['pipe', (q, res) => (html(q, res), Readable.from([PAGE.slice(0, 50), PAGE.slice(50)]).pipe(res))],
  ['pipeline', (q, res) => (html(q, res), pipeline(Readable.from([Buffer.from(PAGE)]), res, () => undefined))],
  ['sendFile', (_q, res) => res.sendFile(join(folder, 'page.html'))],
  ['static/page.html', () => undefined],
  ['static/large.html', () => undefined],
  ['status404', (_q, res) => res.status(404).send(PAGE)],
  ['status500', (_q, res) => res.status(500).send(PAGE)],
  ['strongEtag', (_q, res) => res.set('ETag', '"strong"').send(PAGE)],
  ['cached', (_q, res) => res.set({ 'Cache-Control': 'public, max-age=60', Vary: 'Cookie', 'Last-Modified': 'x' }).send(PAGE)],
  ['post', (_q, res) => res.send(PAGE), { method: 'POST', headers: { 'content-length': '0' } }],
  ['big', (_q, res) => res.send(BIG)],
  ['nonce', csp("script-src 'nonce-abc+/9' 'strict-dynamic'")],
  ['self', csp("default-src 'self'")],
  ['byAccept', (_q, res) => res.send(PAGE), { headers: { accept: 'text/html', 'sec-fetch-dest': '', 'sec-fetch-mode': '' } }],
  ['session', (q, res) => {
    (q as Request & { session: { seen?: number } }).session.seen = 1;
    res.send(PAGE);
  }],
  ['policyInPage', (_q, res) => res.send(`<html><meta http-equiv=content-security-policy content="script-src 'none'"><body></body>`)],
  ['unclosed', (_q, res) => res.send('<html><script>x')],
  ['frameset', (_q, res) => res.send('<html><frameset><frame></frameset></html>')],
  ['cutOff', (q, res) => {
    html(q, res);
    res.write(PAGE.slice(0, -20));
    res.write(`${PAGE.slice(-20)}x`, () => res.destroy());
  }],
]; // prettier-ignore

/** Those that are left alone. */
const OTHERS: Case[] = [
  ['head', (_q, res) => res.send(PAGE), { method: 'HEAD' }],
  ['noContent', (q, res) => (html(q, res), res.status(204).end(PAGE))],
  ['resetContent', (q, res) => (html(q, res), res.status(205).end())],
  ['notModified', (_q, res) => res.set('ETag', '"a"').send(PAGE), { headers: { 'if-none-match': '"a"' } }],
  ['notModifiedWeak', (_q, res) => res.set('ETag', 'W/"a"').send(PAGE), { headers: { 'if-none-match': 'W/"a"' } }],
  ['redirect', (_q, res) => res.redirect('/elsewhere')],
  ['json', (_q, res) => res.json({ html: PAGE })],
  ['text', (_q, res) => res.type('text').send(PAGE)],
  ['xhtml', (_q, res) => res.type('application/xhtml+xml').send(PAGE)],
  ['untyped', (_q, res) => res.end(PAGE)],
  ['fragment', (_q, res) => res.send('<p>x</p></body>')],
  ['empty', (q, res) => (html(q, res), res.end())],
  ['onlyCallback', (q, res) => (html(q, res), res.end(() => undefined))],
  ['attachment', (_q, res) => res.attachment('page.html').send(PAGE)],
  ['download', (_q, res) => res.download(join(folder, 'page.html'))],
  ['noTransform', (_q, res) => res.set('Cache-Control', 'private, no-transform').send(PAGE)],
  ['digest', (_q, res) => res.set('Content-Digest', 'sha-256=:x=:').send(PAGE)],
  ['gzip', (_q, res) => res.type('html').set('Content-Encoding', 'gzip').send(gzipSync(PAGE))],
  ['utf16', (_q, res) => res.set('Content-Type', 'text/html; charset=utf-16le').end(PAGE, 'utf16le')],
  ['utf16Unsaid', (q, res) => (html(q, res), res.end(Buffer.from(`\ufeff${PAGE}`, 'utf16le')))],
  ['static/page.html#range', () => undefined, { headers: { range: 'bytes=0-40' } }],
  ['static/page.html#conditional', () => undefined, { headers: { 'if-modified-since': new Date(1e12).toUTCString() } }],
  ['fetch', (_q, res) => res.send(PAGE), { headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' } }],
  ['frame', (_q, res) => res.send(PAGE), { headers: { 'sec-fetch-dest': 'iframe' } }],
  ['xhr', (_q, res) => res.send(PAGE), { headers: { 'x-requested-with': 'XMLHttpRequest' } }],
  ['htmx', (_q, res) => res.send(PAGE), { headers: { 'hx-request': 'true' } }],
  ['turboFrame', (_q, res) => res.send(PAGE), { headers: { 'turbo-frame': 'cart' } }],
  ['anyType', (_q, res) => res.send(PAGE), { headers: { accept: '*/*', 'sec-fetch-dest': '', 'sec-fetch-mode': '' } }],
  ['events', (_q, res) => (res.set('Content-Type', 'text/event-stream'), res.write('data: <html></body>\n\n'), res.end())],
  ['announced', (_q, res) => (res.writeHead(200, { 'content-type': 'text/html', 'content-length': Buffer.byteLength(PAGE) }), res.end(PAGE))],
  ['flushed', (q, res) => { html(q, res); res.setHeader('content-length', Buffer.byteLength(PAGE)); res.flushHeaders(); res.end(PAGE); }],
  ['policyNone', csp("script-src 'none'")],
  ['policyOther', csp("default-src https://cdn.example 'sha256-abc='")],
  ['policySandbox', csp('sandbox allow-forms')],
  ['policyReported', (_q, res) => res.set('Content-Security-Policy-Report-Only', "script-src 'none'").send(PAGE)],
  ['unclosedInPieces', inPieces('<html>', '<!-- <head>')],
  ['endTagFirst', (_q, res) => res.send('<html></p><!-- x --><p>x')],
  ['referenceFirst', (_q, res) => res.send('<html>&#32;<!-- x --><p>x')],
  ['lengthBeforeHead', (q, res) => (html(q, res), res.set('Content-Length', '22'), res.write('<!doctype html>'), res.end('<p>x</p'))],
  ['missing', (_q, res) => res.sendFile(join(folder, 'none'), (error) => res.status(404).json({ error: error !== undefined }))],
]; // prettier-ignore

function register(app: Express, express: ExpressPackage): void {
  app.set('views', folder).set('view engine', 'tpl');
  app.engine('tpl', (_path, _options, done) => {
    done(null, PAGE);
  });
  app.use('/static', express.static(folder));
  app.use('/session', session({ secret: 'x', resave: false, saveUninitialized: true, genid: () => 'fixed' }));
  for (const [name, handler] of [...DOCUMENTS, ...OTHERS])
    app.all(`/${name.replace('/', '-')}`, (req, res) => void handler(req, res));
}

/** What differs between any two responses. */
function withoutChance({ line, headers }: Answer): string[] {
  return [line, ...headers].map((text) =>
    text.replace(/^(date|set-cookie|x-debug-token(?:-link)?): .*$/i, '$1'),
  );
}

function isLength(text: string): boolean {
  return /^content-length:/i.test(text);
}

for (const [version, express] of EXPRESSES) {
  describe(`responses with the toolbar and without, ${version}`, function () {
    let hosts: Awaited<ReturnType<typeof startToolbarHost>>[];
    before(async () => {
      writeFileSync(join(folder, 'page.tpl'), '');
      writeFileSync(join(folder, 'page.html'), PAGE);
      writeFileSync(join(folder, 'large.html'), `${PAGE.slice(0, -16)}${'<p>x</p>'.repeat(30_000)}</body>`);
      for (const name of ['page.html', 'large.html']) utimesSync(join(folder, name), 1e9, 1e9);
      hosts = await Promise.all(
        [true, false].map((toolbar) =>
          startToolbarHost(
            (app) => {
              register(app, express);
            },
            { express, toolbar },
          ),
        ),
      );
    });
    after(async () => {
      for (const host of hosts) await host.close();
    });

    async function both([name, , { headers = {}, method } = {}]: Case): Promise<[Answer, Answer]> {
      const sent = Object.fromEntries(
        Object.entries({ ...NAVIGATION, ...headers }).filter(([, value]) => value !== ''),
      );
      const path = `/${name.replace(/#.*/, '')}`;
      const [on, off] = await Promise.all(hosts.map((host) => host.ask(path, sent, method)));
      if (on === undefined || off === undefined) throw new Error('no answer');
      return [on, off];
    }

    // Little of it is Express's own.
    const chosen = <T>(cases: readonly T[]): readonly T[] =>
      version === 'Express 4' ? cases.filter((_, at) => at % 5 === 0) : cases;

    for (const asked of chosen(DOCUMENTS)) {
      it(`differ by the tag alone: ${asked[0]}`, async () => {
        const [on, off] = await both(asked);
        const text = on.body.toString('latin1');
        const [tag = ''] = TAG.exec(text) ?? [];
        expect(tag, text.slice(0, 2000)).to.include('data-token');
        const at = text.indexOf(tag);
        expect(text.indexOf('data-hindsight', at + tag.length), 'a second tag').to.equal(-1);
        const rest = Buffer.concat([on.body.subarray(0, at), on.body.subarray(at + tag.length)]);
        expect(rest.equals(off.body), 'what is left is the same').to.equal(true);
        expect(withoutChance(on).filter((line) => !isLength(line))).to.deep.equal(
          withoutChance(off).filter((line) => !isLength(line)),
        );
        expect(on.headers.map((line) => line.split(':')[0])).to.deep.equal(
          off.headers.map((line) => line.split(':')[0]),
        );
        if (off.header('content-length') !== undefined) {
          expect(on.header('content-length')).to.equal(String(on.body.length));
          expect(off.header('content-length')).to.equal(String(off.body.length));
        }
        expect(on.chunks.length).to.equal(off.chunks.length);
      });
    }

    for (const asked of chosen(OTHERS)) {
      it(`are the same: ${asked[0]}`, async () => {
        const [on, off] = await both(asked);
        expect(withoutChance(on)).to.deep.equal(withoutChance(off));
        expect(on.body.equals(off.body)).to.equal(true);
        expect(on.chunks).to.deep.equal(off.chunks);
        expect(off.line).to.match(/^HTTP\/1\.1 [2345]/);
      });
    }
  });
}

after(() => {
  rmSync(folder, { recursive: true, force: true });
});
