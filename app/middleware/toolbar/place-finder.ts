/**
 * Finds the place of the script element in a document that arrives in chunks: after `<head>` or, without that tag, before the first
 * content. Up to there browsers create only `<html>`, `<head>` and comments (HTML standard, 13.2.6.4.1 to 13.2.6.4.4).
 */

/** Why there is no place. `fragment`: neither an HTML doctype nor `<html>` comes first. `there`: the place has a tag already. */
export type NoPlace = 'fragment' | 'there' | 'unclear';

/** Maximum characters searched before the content, or in one comment. */
export const MOST_LOOKED_AT = 16_384;

const SPACE = '[\\t\\n\\f\\r ]';
const ATTRIBUTE = `(?:${SPACE}+|(?<=["']))[^\\t\\n\\f\\r "'<>/=]+(?:${SPACE}*=${SPACE}*(?:"[^"]*"|'[^']*'|[^\\t\\n\\f\\r "'<>=\`]+))?`;
/** White space, a doctype, a comment, a bogus comment, or one of two tags. */
const TOKEN = new RegExp(
  `${SPACE}+|<!doctype[^>]*>|<!--(?:-?>|[^]*?--!?>)|<!(?!--|doctype)[^>]*>|<\\?[^>]*>|<(html|head)(?:${ATTRIBUTE})*${SPACE}*/?>`,
  'iy',
);
const DOCUMENT = /^<(?:html|!doctype[\t\n\f\r ]*html[\t\n\f\r >])/i;
/** An incomplete token, whose rest is in a later chunk. */
const BEGINNING = /^<(?:[!?]|(?:html|head)[\t\n\f\r />])/i;
/** Some end tags are ignored, a character reference may be white space, and browsers drop U+0000: comments after these would move. */
const UNCLEAR = /^(?:<\/|[&\0])/;
const TAG = /^<script async src="[^"]*" data-token="/;

function isBeginning(text: string): boolean {
  return BEGINNING.test(text) || ['<html', '<head'].some((tag) => tag.startsWith(text.toLowerCase()));
}

/**
 * Returns a function that is called with each chunk in order and returns the index in the chunk: -1 if the content's `<` ended the
 * previous chunk, null if the place is in a later one.
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
