/** Where the tag goes: marked by `¦` in each document, which is looked at whole and cut at every character. */
import { expect } from 'chai';
import { createPlaceFinder, MOST_LOOKED_AT } from '../../../app/middleware/toolbar/insertion.ts';

/** The document with `¦` where the tag would go, or why it goes nowhere. */
function mark(pieces: readonly string[]): string {
  const find = createPlaceFinder();
  let sent = '';
  for (const [index, piece] of pieces.entries()) {
    const place = find(piece);
    if (typeof place === 'string') return place;
    const at = sent.length + (place ?? 0);
    sent += piece;
    if (place !== null) return `${sent.slice(0, at)}¦${sent.slice(at)}${pieces.slice(index + 1).join('')}`;
  }
  return 'not yet';
}

const PLACES: readonly [what: string, document: string][] = [
  ['behind <head>', '<!doctype html><html><head>¦<title>x</title></head><body><p>x</p></body></html>'],
  ['behind <head> in any case, with attributes', '<!DOCTYPE HTML>\n<HTML LANG=en>\n<HEAD \n profile="a>b" x>¦</HEAD>'],
  ['behind a <head> whose attributes touch', `<html a="b"class='c'd=e/f g = "<head>"><head>¦`],
  ['before the content where there is no <head>', '<!doctype html>\n<!-- x -->\n¦<title>x</title><p>x'],
  ['before an element that begins with their names', '<html>¦<header>x</header>'],
  ['before a less-than sign that opens nothing', '<!doctype html>¦< head>'],
  ['behind a mark, blanks, comments and an XML declaration', '\ufeff \n<?xml version="1.0"?><!-- x --><html><head>¦'],
  ['behind a mark as bytes', '\xef\xbb\xbf<!doctype html><html><head>¦'],
  ['before a mark that is none', '<html>¦\ufeff<head>'],
  ['behind a doctype whose end is in its quotes', '<!doctype html "a>¦b"><head>'],
  ['not in a comment that ends oddly', '<html><!-- <head> --!><head>¦'],
  ['behind comments that end at once', '<html><!--><!---><!----><head>¦<!-- -->'],
  ['not in a comment that only seems to end at once', '<html><!---!><head>--><head>¦'],
  ['behind what is read as a comment', '<html><!x <head a--><![CDATA[ x ]]><? <head ?><head>¦'],
  ['behind a second doctype and a second <html>', '<html><!doctype svg><html class=a><head>¦ <head>'],
  ['before characters of two bytes', '<!doctype html>¦Ж™'],
]; // prettier-ignore

const NONE: readonly [why: string, documents: string[]][] = [
  ['fragment', ['text', '<p>x</p></body></html>', '<div>', '<body></body>', '<head></head>', '<!doctype svg><svg/>', '{"a":"<html>"}', '</html><html>', '<!-- <html> --><p>', '<htmlx>', '&#32;<html>', '<!doctype htmlx><p>', '\ufeff\ufeff<html>', '<3', 'f\ufeff']],
  ['unclear', ['<html></body>', '<html></p><!-- x -->', '<html>&#32;<!-- x -->', '<html>\0<!-- x -->', '<!doctype html></>']],
  ['there', ['<html><head><script async src="/_profiler/toolbar.js" data-token="aaaaaa" data-hindsight></script>', '<html><script async src="/a/_profiler/toolbar.js?v=1" data-token="aaaaaa"']],
  ['not yet', ['', ' ', '\ufeff', '<', '<!doctype', '<!-- <html><head>', '<html', '<html lang="<head>', '<html lang=<head>', '<html a"b><head>', '<html><he', '<html><head x']],
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

  it('is the same wherever the document is cut', () => {
    for (const [, marked] of PLACES) {
      const text = marked.replace('¦', '');
      for (let at = 1; at < text.length; at++) {
        // The bytes of a mark are the beginning of a document, or it is none.
        if (text.startsWith('\xef') && at < 3) continue;
        // What has gone out may have been the beginning of `<head>`.
        const gone = text.slice(marked.indexOf('¦'), at);
        const isLost = gone.length > 1 && '<head'.startsWith(gone);
        expect(mark([text.slice(0, at), text.slice(at)]), `${text} cut at ${at}`).to.equal(
          isLost ? 'unclear' : marked,
        );
      }
    }
  });

  it('is the same in single characters', () => {
    for (const [, marked] of PLACES) {
      if (/¦<h|^\xef/.test(marked)) continue;
      expect(mark(marked.replace('¦', '').split(''))).to.equal(marked);
    }
  });

  it('is not looked for in more than a bounded text', () => {
    const comment = `<!--${'x'.repeat(MOST_LOOKED_AT)}--><html><head>`;
    expect(mark([comment])).to.equal('unclear');
    expect(mark(comment.match(/[^]{1,999}/g) ?? [])).to.equal('unclear');
    expect(mark([`<html>${' '.repeat(MOST_LOOKED_AT)}<head>`])).to.equal('unclear');
  });
});
