/** Where the tag goes: marked by `¦` in each document, which is looked at whole and cut at every character. */
import { expect } from 'chai';
import { createPlaceScanner, type Place } from '../../../app/middleware/toolbar/html-place.ts';

/** The document with `¦` where the tag would go, or what stands against it. */
function mark(pieces: readonly string[]): string {
  const scanner = createPlaceScanner();
  let marked = '';
  let placed = false;
  for (const piece of pieces) {
    const place: Place | null = placed ? null : scanner.feed(piece);
    placed ||= place !== null;
    marked += place === null ? piece : `${piece.slice(0, place.at)}¦${place.closing}${piece.slice(place.at)}`;
  }
  if (placed) return marked;
  if (scanner.isDocument() !== true) return 'no document';
  return scanner.problem() ?? `${marked}¦`;
}

const PLACES: readonly [what: string, document: string][] = [
  ['before the end of the body', '<!doctype html><html><body><p>x</p>¦</body></html>'],
  ['in any case', '<!DOCTYPE HTML><HTML><BODY>¦</BODY></HTML>'],
  ['before an end tag with blanks or attributes', '<html><body>¦</body \n a="b>"></html>'],
  ['before the end of the document without one of the body', '<html><p>x¦</html>'],
  ['at the end of a document without end tags', '<!doctype html><title>x</title><p>x¦'],
  ['behind a mark, blanks, comments and an XML declaration', '\ufeff \n<?xml version="1.0"?><!-- x --><html>¦</html>'],
  ['behind a long doctype', '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x.dtd"><html/>¦'],
  ['not in a comment', '<html><!-- </body> -- > --><p>¦</body>'],
  ['not in a comment that ends oddly', '<html><!-- </body> --!>¦</body>'],
  ['behind comments that end at once', '<html><!--><!--->¦</body><!-- </body> -->'],
  ['not in what is no comment but ends like one', '<html><!x </body-><? </body ?></ </body>¦</body>'],
  ['not in a script', '<html><script>x = "</body>"</script>¦</body>'],
  ['not in a script within a comment of a script', '<html><script><!-- <script> </script> </body> --> </script>¦</body>'],
  ['behind a script that only seems to have a comment', '<html><script><!--></script>¦</body><!-- -->'],
  ['not in an end tag that is another', '<html><script></scripts></body></script>¦</body>'],
  ['not in a style, title, textarea, xmp, iframe', '<html><style></body></style><title></body></title><textarea></body></textarea><xmp></body></xmp><iframe></body></iframe>¦</body>'],
  ['not in a noscript, which is text where scripts run', '<html><noscript></body></noscript>¦</body>'],
  ['not in attributes', `<html><a x="</body>" y='</body>' z=</body x="</body>">¦</body>`],
  ['not in an attribute behind oddities', '<html><a =="</body>" / b = "</body>">¦</body>'],
  ['not in a template', '<html><template></body></template>¦</body>'],
  ['before the first of two', '<html><body>¦</body><body></body></html>'],
  ['not in a section of an image that is no comment', '<html><svg><style><![CDATA[ </body> > ]]></style></svg>¦</body>'],
  ['behind an image whose title is no title', '<html><svg><title><b></b></title></svg>¦</body>'],
  ['behind an image whose style holds a comment', '<html><svg><style><!-- </body></style> --></style></svg>¦</body>'],
  ['in HTML within an image', '<html><svg><foreignObject><script>a<b</script></foreignObject></svg>¦</body>'],
  ['behind an image that is never closed but left', '<html><svg><path><p><script>a<b</script>¦</body>'],
  ['behind a less-than sign that opens nothing', '<html>a < b <3 </> <¦</body>'],
  ['between characters of two bytes', '<html><p>Ж™</p>¦</body>'],
]; // prettier-ignore

const NONE: readonly [why: string, documents: string[]][] = [
  ['no document', ['', 'text', '<p>x</p></body></html>', '<div>', '<body></body>', '<!doctype svg><svg/>', '{"a":"<html>"}', '</html><html>', '<!-- <html> -->', '<htmlx>', '&#32;<html>', '<!doctype htmlx>', '<!doctype']],
  ['unfinished', ['<html><!-- x', '<html><script>x', '<html><a href="x', '<html><template>x', '<html><svg>', '<html><svg></body></html>', '<html></', '<html><title>x</titl', '<html><![CDATA[ x']],
  ['plaintext', ['<html><plaintext></plaintext></body>']],
  ['frameset', ['<html><frameset><frame></frameset></html>']],
  ['unclear', ['<html><div><svg></div><style> <!-- </style> </body> -->', '<html><select><title><b></title></body>', '<html><template><col><style><!--</style></body>']],
  ['there', ['<html><script async src="/_profiler/toolbar.js" data-token="aaaaaa" data-hindsight></script></body>']],
]; // prettier-ignore

describe('the place of the toolbar in a document', () => {
  for (const [what, marked] of PLACES) {
    it(`is ${what}`, () => {
      expect(mark([marked.replace('¦', '')])).to.equal(marked);
    });
  }

  for (const [why, documents] of NONE) {
    it(`is nowhere: ${why}`, () => {
      for (const document of documents) expect(mark([document]), document).to.equal(why);
    });
  }

  it('is the same wherever the document is cut, or behind the end tag that was cut', () => {
    for (const marked of [...PLACES.map(([, text]) => text), ...NONE.flatMap(([, texts]) => texts)]) {
      const text = marked.replace('¦', '');
      const whole = mark([text]);
      const behind = whole.replace(
        /¦(<\/(body|html)[^>]*?(?:"[^"]*"[^>]*)?>)/i,
        (_all, tag: string, name: string) => `${tag}¦</${name.toLowerCase()}>`,
      );
      for (let at = 1; at < text.length; at++) {
        const cut = mark([text.slice(0, at), text.slice(at)]);
        expect([whole, behind], `${text} cut at ${at}`).to.include(cut);
      }
      expect([whole, behind], `${text} in single characters`).to.include(mark(text.split('')));
    }
  });

  it('tells the policies and the base address before it', () => {
    const scanner = createPlaceScanner();
    scanner.feed(
      `<html><head><base href=/a/><base href="/b/"><META content="script-src &#39;self&#39;" HTTP-EQUIV='Content-Security-Policy'>
       <meta name=x content=y><!-- <meta http-equiv=content-security-policy content="x"> --><p></body>`,
    );
    expect(scanner.policies).to.deep.equal(["script-src 'self'"]);
    expect(scanner.base()).to.equal('/a/');
  });

  it('keeps nothing of a tag that never ends', () => {
    const scanner = createPlaceScanner();
    scanner.feed('<html><meta content="');
    for (let i = 0; i < 100; i++) scanner.feed('x'.repeat(1000));
    expect(scanner.problem()).to.equal('unclear');
  });
});
