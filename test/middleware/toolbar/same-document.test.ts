/**
 * What Chromium makes of documents with the tag and without: the same, but for that one script element. Thousands of documents put
 * together from pieces that parsers stumble over, whole and cut; nobody has to know what each of them means.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createPlaceScanner } from '../../../app/middleware/toolbar/html-place.ts';
import { launchBrowser, type TestBrowser } from '../../support/browser.ts';

const TAG = '<script async src="/none.js" data-token="abcdef" data-hindsight></script>';
const DOCUMENTS = 700;

const PIECES = [
  ...'<html> <head> </head> <body> <body_class=a> </body> </html> </BODY_> </body_a="</html>"> text <p> </p> <div> </div> <b> </b>'.split(' '),
  ...'<!--_c_--> <!--_</body>_--> <!-- --> <!--> <!---> <!--a--!> <?xml_x?> <![CDATA[_</body>_]]> <![CDATA[ ]]> <! <!d <!doctype_html>'.split(' '),
  ...'<script> </script> <script>a="</body>";</script> <script><!--_<script>_</script>_</body>_--></script> <script><!-- </script/ <script_'.split(' '),
  ...'<style> </style> <style><!--_</body>_--></style> <textarea> </textarea> <title> </title> <title></body></title> <xmp> </xmp> <iframe> </iframe>'.split(' '),
  ...'<noscript> </noscript> <noframes> </noframes> <noembed> </noembed> <template> </template> <table> </table> <tr> <td> </td> <colgroup> <col>'.split(' '),
  ...'<caption> <select> </select> <option> <svg> </svg> <svg/> <g> </g> <path_d=""> <foreignObject> </foreignObject> <desc> </desc> <math> </math>'.split(' '),
  ...'<mi> </mi> <annotation-xml_encoding="text/html"> </annotation-xml> <mglyph> <font_color=a> <font> <a_href="</body>"> <a_x=</body>> <a_"="</body>">'.split(' '),
  ...`<a_href='</body>'> <img_alt="<!--"> <br> </br> <frameset> <plaintext> <input> <button> <form> <ul><li> < </ <a <a_href=" &am &lt; <h1> </h1>`.split(' '),
  ...'<object> <applet> <image> <script/> <title/> <svg><title>x</title></svg> <svg><style>a{}</style></svg> <svg><path></svg> <math><mi>x</mi></math>'.split(' '),
].map((piece) => piece.replaceAll('_', ' ')); // prettier-ignore

/** The same documents in each run. */
function createRandom(): () => number {
  let seed = 20261120;
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The document with the tag, or null where it gets none. */
function withTag(pieces: readonly string[]): string | null {
  const scanner = createPlaceScanner();
  let sent = '';
  for (const [index, piece] of pieces.entries()) {
    const place = scanner.feed(piece);
    if (place === null) {
      sent += piece;
      continue;
    }
    const rest = pieces.slice(index + 1).join('');
    return sent + piece.slice(0, place.at) + TAG + place.closing + piece.slice(place.at) + rest;
  }
  return scanner.isDocument() === true && scanner.problem() === null ? sent + TAG : null;
}

/** Runs in the page: what a document becomes, as text, its script of ours left out, and how many of these there were. */
const READ = `(html) => {
  const frame = document.createElement('iframe');
  document.body.append(frame);
  const inner = frame.contentDocument;
  inner.open();
  inner.write(html);
  inner.close();
  let ours = 0;
  const read = (node) => {
    let text = '', out = '';
    const flush = () => { if (text !== '') out += 'T(' + text + ')'; text = ''; };
    for (const child of node.childNodes) {
      if (child.nodeType === 3) { text += child.data; continue; }
      if (child.localName === 'script' && child.hasAttribute('data-hindsight')) { ours++; continue; }
      flush();
      if (child.nodeType === 8) out += 'C(' + child.data + ')';
      else if (child.nodeType === 10) out += 'D(' + child.name + ')';
      else {
        const attributes = Array.from(child.attributes ?? [], ({ name, value }) => name + '=' + value).join();
        out += '<' + child.namespaceURI + ' ' + child.localName + ' ' + attributes + '>' + (child.content instanceof DocumentFragment || child.localName === 'template' && child.content ? read(child.content) : '') + read(child) + '</>';
      }
    }
    flush();
    return out;
  };
  const tree = inner.compatMode + read(inner);
  frame.remove();
  return { tree, ours };
}`;

describe('a document with the tag of the toolbar', function () {
  let browser: TestBrowser;
  before(async function () {
    browser = await launchBrowser(this);
  });
  after(() => browser.close());

  it('is the same document in Chromium', async function () {
    this.timeout(120_000);
    const server = createServer((_req, res) =>
      res.setHeader('content-type', 'text/html').end('<!doctype html><body>'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { page } = await browser.open();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const random = createRandom();
    const pairs: { plain: string; tagged: string }[] = [];
    for (let n = 0; n < DOCUMENTS; n++) {
      let plain = random() < 0.5 ? '<!doctype html>' : '<html>';
      for (let k = random() * 14; k > 0; k--) plain += PIECES[Math.floor(random() * PIECES.length)] ?? '';
      if (random() < 0.6) plain += '</body></html>';
      const at = Math.floor(random() * plain.length);
      const tagged = withTag(
        n % 3 === 0 ? plain.split('') : n % 3 === 1 ? [plain] : [plain.slice(0, at), plain.slice(at)],
      );
      if (tagged !== null) pairs.push({ plain, tagged });
    }
    expect(pairs.length).to.be.above(DOCUMENTS / 4);
    const differing = await page.evaluate<(object | null)[]>(
      `((read, pairs) => pairs.flatMap(({ plain, tagged }) => {
        const before = read(plain), after = read(tagged);
        return before.tree === after.tree && after.ours <= 1 ? (after.ours === 1 ? [] : [null]) : [{ plain, tagged, before: before.tree, after: after.tree }];
      }))(${READ}, ${JSON.stringify(pairs).replaceAll('<', '\\u003c')})`,
    );
    expect(differing.filter((found) => found !== null).slice(0, 3)).to.deep.equal([]);
    // A frameset that comes behind `</html>` takes the place of the body, and of the tag in it.
    expect(differing.length).to.be.below(pairs.length / 50);
    server.close();
    server.closeAllConnections();
  });
});
