/**
 * Where the script element goes in a document that arrives in pieces: behind `<head>`, or before the first content where there is no such
 * tag. Up to there browsers build nothing but `<html>`, `<head>` and comments (HTML standard, 13.2.6.4.1 to 13.2.6.4.4).
 */

/** Why there is no place: `fragment`: neither a doctype of HTML nor `<html>` comes first; `there`: the place has a tag already. */
export type NoPlace = 'fragment' | 'there' | 'unclear';

/** More than this before the content, or in one comment of it, is not looked through. */
export const MOST_LOOKED_AT = 16_384;

const SPACE = '[\\t\\n\\f\\r ]';
const ATTRIBUTE = `(?:${SPACE}+|(?<=["']))[^\\t\\n\\f\\r "'<>/=]+(?:${SPACE}*=${SPACE}*(?:"[^"]*"|'[^']*'|[^\\t\\n\\f\\r "'<>=\`]+))?`;
/** White space, a doctype, a comment, what is read as a comment, or one of two tags. */
const TOKEN = new RegExp(
  `${SPACE}+|<!doctype[^>]*>|<!--(?:-?>|[^]*?--!?>)|<!(?!--|doctype)[^>]*>|<\\?[^>]*>|<(html|head)(?:${ATTRIBUTE})*${SPACE}*/?>`,
  'iy',
);
const DOCUMENT = /^<(?:html|!doctype[\t\n\f\r ]*html[\t\n\f\r >])/i;
/** The beginning of a token, of which the rest is still to come. */
const BEGINNING = /^<(?:[!?]|(?:html|head)[\t\n\f\r />])/i;
/** Some end tags are ignored, a reference may be white space, and browsers drop U+0000: comments behind these would move. */
const UNCLEAR = /^(?:<\/|[&\0])/;
const TAG = /^<script async src="[^"]*" data-token="/;

function isBeginning(text: string): boolean {
  return BEGINNING.test(text) || ['<html', '<head'].some((tag) => tag.startsWith(text.toLowerCase()));
}

/**
 * The function takes the pieces in order, and gives the index in the piece: -1 where the content's `<` was the end of the piece before;
 * null where the place is in a later one.
 */
export function createPlaceFinder(): (piece: string) => number | NoPlace | null {
  let before = '';
  let isStart = true;
  let isDocument = false;

  return (piece) => {
    const text = (before + piece.slice(0, MOST_LOOKED_AT)).slice(0, MOST_LOOKED_AT);
    // A byte order mark, as a character or as bytes.
    let at = isStart ? (/^(?:\ufeff|\xef\xbb\xbf)/.exec(text)?.[0].length ?? 0) : 0;
    let isHead = false;
    while (!isHead) {
      TOKEN.lastIndex = at;
      const [token, tag] = TOKEN.exec(text) ?? [];
      if (token === undefined) break;
      at += token.length;
      isDocument ||= DOCUMENT.test(token);
      isHead = tag?.toLowerCase() === 'head';
    }
    const rest = text.slice(at);
    if (!isHead && isBeginning(rest)) {
      if (text.length === MOST_LOOKED_AT) return 'unclear';
      isStart &&= text === '';
      before = rest;
      return null;
    }
    if (!isDocument) return 'fragment';
    if (TAG.test(rest)) return 'there';
    const place = at - before.length;
    return place < -1 || (!isHead && UNCLEAR.test(rest)) ? 'unclear' : place;
  };
}
