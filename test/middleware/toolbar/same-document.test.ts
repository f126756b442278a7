/**
 * What Chromium makes of documents with the tag and without: the same, but for that one script element. Those of each kind as they come from a
 * server, and thousands put together from pieces that parsers stumble over, whole and cut; nobody has to know what each of these means.
 */
import { expect } from 'chai';
import { createPlaceFinder } from '../../../app/middleware/toolbar/insertion.ts';
import { useBrowser, type OpenPage } from '../../support/browser.ts';
import { createRandom } from '../../support/fuzz.ts';
import { startToolbarHost, type ToolbarHost } from '../../support/raw-toolbar-host.ts';

const REST = '<title>ü</title><body class="b"><p>Grüße</p><!-- c --> <table><td>x';
/** Whole documents, as bytes where their charset matters. `gets`: whether it has the tag. */
const DOCUMENTS: readonly (readonly [what: string, document: string | Buffer, gets: boolean])[] = [
  ['a usual one', `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">${REST}</table></body></html>\n`, true],
  ['without <head>', `<!doctype html><html lang="en">${REST}`, true],
  ['without <html>', `<!doctype html><head>${REST}`, true],
  ['without either', `<!doctype html>\n${REST}`, true],
  ['with attributes of <head>', `<!doctype html><html><head id="h" class='a>b'>${REST}`, true],
  ['without a doctype', `<html><head>${REST}`, true],
  ['with a doctype of quirks', `<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 3.2 Final//EN"><html><head>${REST}`, true],
  ['with a doctype of limited quirks', `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x"><html><head>${REST}`, true],
  ['of XHTML', `<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head>\n${REST}`, true],
  ['with a byte order mark', `\ufeff<!doctype html><html><head>${REST}`, true],
  ['with comments ahead', `<!-- <head> -->\n<!doctype html><!--><!-- <html> --><html><!-- a --> <head><!-- b -->${REST}`, true],
  ['with a comment and no <head>', `<!doctype html><html> <!-- a --> ${REST}`, true],
  ['whose first thing is text', '<!doctype html> text <head id="ignored"><p>x', true],
  ['whose first thing is a paragraph', '<!doctype html>\n<p>x</p> <title>late</title>', true],
  ['whose first thing is <body>', '<!doctype html><html><body class="b">\n<p>x', true],
  ['whose first thing is <noscript>', '<!doctype html><noscript><link></noscript><p>x', true],
  ['whose first thing is a script', '<!doctype html><script>window.first = document.scripts.length</script><p>x', true],
  ['whose first thing is a drawing', '<!doctype html><svg><title>a</title></svg>', true],
  ['with a frameset', '<!doctype html><html><head><title>x</title></head><frameset cols="*,*"><frame><frame></frameset></html>', true],
  ['with a frameset and no <head>', '<html><frameset cols="*,*"><frame><frame></frameset></html>', true],
  ['with a foreign base', `<!doctype html><html><head><base href="https://other.example/a/">${REST}`, true],
  ['in Latin-1 by its <meta>', Buffer.from(`<!doctype html><html><head><meta charset="iso-8859-1">${REST}`, 'latin1'), true],
  ['in Latin-1 by a <meta> at the end of the first 1024 bytes', Buffer.from(`<!doctype html><html><head><!--${'x'.repeat(950)}--><meta charset="iso-8859-2">${REST}`, 'latin1'), true],
  ['that ends behind its <head>', '<!doctype html><html><head>', true],
  ['whose first thing is an end tag', '<!doctype html></p><!-- a --><p>x', false],
  ['whose first thing is a reference', '<!doctype html>&#32;<!-- a --><p>x', false],
  ['whose first thing is U+0000', '<!doctype html>\0<!-- a --><p>x', false],
  ['with text ahead', `text<!doctype html><html><head>${REST}`, false],
  ['that is a fragment', '<p>x</p>', false],
]; // prettier-ignore

const TAG = '<script async src="/none.js" data-token="abcdef" data-hindsight></script>';
const GENERATED = 2000;

/** Most stand before the content; the rest is content of every kind of which a parser thinks anything of its own. */
const PIECES = [
  ...'_ \n_ \f <!--_c_--> <!--_<head>_--> <!-- --> <!--> <!---> <!--a--!> <!---!> <?xml_x?> <![CDATA[_x_]]> <! <!d <!> <!doctype_html> <!doctype_x_"a>b">'.split(' '),
  ...'<html> <html_class=a> <HTML_a="<head>"> <html/> <html_a="b"c=\'>\'> <html_a=b"c> <html_/_x> <html_a="b <html_=> <htmlx> <html'.split(' '),
  ...'<head> <head> <head> <HEAD_x> <head/> <head_a="b>c"> <head_a=\'b <headx> <he </head> <header> <h1> </html> </body> </br> </p> </> </_x> </'.split(' '),
  ...'<body> <body_class=a> <p> text &amp; &#32; &Tab; \0 \ufeff < <3 <frameset> <frame> <plaintext> <table> <tr> <td> <select> <option> <svg> <math>'.split(' '),
  ...'<title>x</title> <base> <link> <meta> <style>a{}</style> <script>"<head>"</script> <noscript> </noscript> <template> </template> <noframes>x</noframes>'.split(' '),
  ...'<textarea> </textarea> <pre> <form> <input> <b> <a_href="x"> <image> <hr> <col> <caption>'.split(' '),
].map((piece) => piece.replaceAll('_', ' ')); // prettier-ignore

/** The same documents in each run. */
function createRandomShare(): () => number {
  const below = createRandom(20261120);
  return () => below(2 ** 32) / 2 ** 32;
}

/** The document with the tag, or null where it gets none. */
function withTag(pieces: readonly string[]): string | null {
  const find = createPlaceFinder();
  let sent = '';
  for (const [index, piece] of pieces.entries()) {
    const place = find(piece);
    if (typeof place === 'string') return null;
    sent += piece;
    if (place === null) continue;
    const whole = sent + pieces.slice(index + 1).join('');
    const at = sent.length - piece.length + place;
    return whole.slice(0, at) + TAG + whole.slice(at);
  }
  return null;
}

/** Runs in the page: what a document becomes, node by node, the toolbar's script left out, and how many of these there were. */
const READ = `(html) => {
  const frame = document.querySelector('iframe') ?? document.body.appendChild(document.createElement('iframe'));
  const inner = frame.contentDocument;
  inner.open();
  inner.write(html);
  inner.close();
  let ours = 0;
  const read = (node) => {
    let out = '';
    for (const child of node.childNodes) {
      if (child.localName === 'script' && child.hasAttribute('data-hindsight')) ours++;
      else if (child.nodeType === 3) out += 'T(' + child.data + ')';
      else if (child.nodeType === 8) out += 'C(' + child.data + ')';
      else if (child.nodeType === 10) out += 'D(' + child.name + ')';
      else {
        const attributes = Array.from(child.attributes, ({ name, value }) => name + '=' + value).join();
        out += '<' + child.namespaceURI + ' ' + child.localName + ' ' + attributes + '>' + (child.localName === 'template' && child.content ? read(child.content) : '') + read(child) + '</>';
      }
    }
    return out;
  };
  const tree = inner.compatMode + read(inner);
  return { tree, ours };
}`;

describe('a document with the tag of the toolbar', function () {
  const browser = useBrowser();
  let opened: OpenPage;
  let hosts: ToolbarHost[] = [];
  before(async () => {
    opened = await browser.open();
    await opened.page.route('**/_profiler/toolbar.js*', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: '' }),
    );
    const serve = (toolbar: boolean): Promise<ToolbarHost> =>
      startToolbarHost(
        (app) => {
          app.get('/favicon.ico', (_req, res) => void res.status(204).end());
          app.get('/empty', (_req, res) => void res.type('html').end('<!doctype html><body>'));
          app.get('/:index', ({ params }, res) => {
            // Without a charset.
            res.setHeader('content-type', 'text/html').end(DOCUMENTS[Number(params.index)]?.[1]);
          });
          return undefined;
        },
        { toolbar },
      );
    hosts = [await serve(true), await serve(false)];
  });
  after(async () => {
    for (const host of hosts) await host.close();
  });

  // The charset of the others is that of a page that writes them.
  const served = DOCUMENTS.map((one, index) => [index, ...one] as const).filter(
    ([, what, document, gets]) =>
      what === 'a usual one' || typeof document !== 'string' || document.startsWith('\ufeff') || !gets,
  );
  for (const [index, what, , gets] of served)
    it(`is what it was: ${what}`, async function () {
      const [tagged, plain] = hosts.map(({ port }) => async (): Promise<Record<string, string>> => {
        await opened.page.goto(`http://127.0.0.1:${port}/${index}`);
        return opened.page
          .evaluate(`({ html: document.documentElement.outerHTML, mode: document.compatMode, charset: document.characterSet,
            around: [...document.childNodes].map((node) => node.nodeName + (node.data ?? '')).join() })`);
      });
      const { html = '', ...others } = (await tagged?.()) ?? {};
      const tags = html.match(/<script [^>]*data-hindsight=""><\/script>/g) ?? [];
      expect(tags).to.have.length(gets ? 1 : 0);
      expect({ html: html.replace(tags[0] ?? '', ''), ...others }).to.deep.equal(await plain?.());
      expect(opened.problems.splice(0)).to.deep.equal([]);
    });

  it('is what it was, whatever it is made of', async function () {
    const { page } = opened;
    await page.goto(`http://127.0.0.1:${hosts[1]?.port}/empty`);
    const random = createRandomShare();
    const pairs = DOCUMENTS.flatMap(([what, plain, gets]) => {
      if (typeof plain !== 'string') return [];
      const tagged = withTag([plain]);
      expect(tagged !== null, what).to.equal(gets);
      return tagged === null ? [] : [{ plain, tagged }];
    });
    for (let n = 0; n < GENERATED; n++) {
      let plain = random() < 0.5 ? '<!doctype html>' : random() < 0.8 ? '<html>' : '';
      for (let k = random() * 9; k > 0; k--) plain += PIECES[Math.floor(random() * PIECES.length)] ?? '';
      const at = Math.floor(random() * plain.length);
      const tagged = withTag(
        n % 3 === 0 ? plain.split('') : n % 3 === 1 ? [plain] : [plain.slice(0, at), plain.slice(at)],
      );
      if (tagged !== null) pairs.push({ plain, tagged });
    }
    expect(pairs.length).to.be.above(GENERATED / 2);
    const differing = await page.evaluate<object[]>(
      `((read, pairs) => pairs.flatMap(({ plain, tagged }) => {
        const before = read(plain), after = read(tagged);
        return before.tree === after.tree && after.ours === 1 ? [] : [{ plain, tagged, before, after }];
      }))(${READ}, ${JSON.stringify(pairs).replaceAll('<', '\\u003c')})`,
    );
    expect(differing.slice(0, 3)).to.deep.equal([]);
  });
});
