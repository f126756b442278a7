/**
 * Where one more script element fits into an HTML document that goes by in pieces: before the first `</body>` or `</html>` that is
 * one, else at the end. And what has to be known of it before: whether it is a whole document, its policies, its base address.
 *
 * The states of the standard's tokenizer (13.2.5) that decide what is a tag and what is text, with those of the tree that they depend
 * on: foreign content, select, template, frameset. Nothing is kept of what went by but a name cut in two. Where a browser might read
 * the rest of a document otherwise, there is no place in it: a page without a toolbar is better than a broken one.
 */
import { createForeignContent } from './foreign-content.ts';
import { attributesOf } from './tag-attributes.ts';

/** Why nothing can be put in, or not there. */
export type Unplaceable = 'frameset' | 'plaintext' | 'unclear' | 'unfinished' | 'there';

export interface Place {
  /** Index in the piece looked at last. */
  at: number;
  /** The end tag began in a piece that has gone by, so the place is behind it: it has to be closed again. Else empty. */
  closing: string;
}

export interface PlaceScanner {
  /** Looks at the next piece; the place, where it is in there. Not to be called any more once there is one. */
  feed(text: string): Place | null;
  /** A doctype of HTML or `<html>` stands before all else; undefined until it is known. */
  isDocument(): boolean | undefined;
  /** What keeps a script element from being put at the end of what went by; null where nothing does. */
  problem(): Unplaceable | null;
  /** Policies that the document itself sets, so far. */
  policies: readonly string[];
  /** Its first `<base href>`, so far. */
  base(): string | null;
}

const DATA = 0, TAG_OPEN = 1, END_OPEN = 2, NAME = 3, BEFORE_ATTRIBUTE = 4, ATTRIBUTE = 5, AFTER_ATTRIBUTE = 6,
  BEFORE_VALUE = 7, DOUBLE = 8, SINGLE = 9, UNQUOTED = 10, AFTER_VALUE = 11, SELF_CLOSING = 12, DECLARATION = 13,
  BOGUS = 14, DOCTYPE = 15, COMMENT_START = 16, COMMENT_START_DASH = 17, COMMENT = 18, COMMENT_DASH = 19,
  COMMENT_END = 20, COMMENT_BANG = 21, CDATA = 22, RAW = 23, RAW_OPEN = 24, RAW_NAME = 25, SCRIPT_BANG = 26,
  SCRIPT_NAME = 27; // prettier-ignore

const TAB = 9, LINE = 10, FEED = 12, RETURN = 13, SPACE = 32, BANG = 33, QUOTE = 34, APOSTROPHE = 39, DASH = 45,
  SLASH = 47, LESS = 60, EQUALS = 61, GREATER = 62, QUESTION = 63, CLOSING = 93; // prettier-ignore

/** Elements whose content is text. */
const RAW_ELEMENTS = new Set([
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
  'iframe',
  'noembed',
  'noframes',
  'noscript',
]);
/** Elements whose start tags mean something here, while nothing foreign is open. */
const NOTED = new Set([
  ...RAW_ELEMENTS, 'html', 'body', 'meta', 'base', 'svg', 'math', 'template', 'frameset', 'plaintext', 'select', 'col',
]); // prettier-ignore
/** Those whose attributes are read. */
const READ = new Set(['meta', 'base', 'script', 'font', 'annotation-xml']);
/** Characters kept of a tag whose attributes are read, and of a name. */
const LONGEST_TAG = 65_536;
const LONGEST_NAME = 64;
/** What follows a name in nearly all tags, to their end: read at once, for it is most of a document. */
const ATTRIBUTES =
  '(?:[\\t\\n\\f\\r ]+[a-z_:@.-][^\\t\\n\\f\\r "\'<>/=`]*(?:="[^"]*"|=\'[^\']*\'|=[^\\t\\n\\f\\r "\'<>=`]+)?)*[\\t\\n\\f\\r ]*';
const WELL_FORMED = new RegExp(`${ATTRIBUTES}(?=/?>)`, 'iy');
/** Text, and tags that mean nothing here; a number at a time, for the stack of expressions is bounded. */
const PLAIN_CONTENT = new RegExp(
  `(?:[^<]+|</?(?!(?:${[...NOTED].join('|')})[\\t\\n\\f\\r />])[a-z][^\\t\\n\\f\\r />]*${ATTRIBUTES}/?>){1,400}`,
  'iy',
);
/** Of `doctype` and `[CDATA[`. */
const KEYWORD = 7;

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE || code === TAB || code === RETURN || code === FEED;
}

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

function endsName(code: number): boolean {
  return code === GREATER || code === SLASH || isSpace(code);
}

export function createPlaceScanner(): PlaceScanner {
  const foreign = createForeignContent();
  const policies: string[] = [];
  let state = DATA;
  let isDocument: boolean | undefined;
  let started = false;
  let lost: Unplaceable | null = null;
  let base: string | null = null;
  /** Of the tag being read: where its `<` stands in this piece, -1 where in one before. */
  let tagAt = -1;
  let isEndTag = false;
  let name = '';
  /** What is kept of a tag, a doctype or a declaration as it goes by; null while nothing is. */
  let kept: string | null = null;
  let keptFrom = 0;
  let rawName = '';
  /** Of a script: 1 inside `<!--`, 2 inside a `<script` inside of that. */
  let escaped = 0;
  let dashes = 0;
  let isSelect = false;
  let templates = 0;
  let hasColumns = false;

  function keep(from: number): void {
    kept = '';
    keptFrom = from;
  }

  function take(text: string, end: number): string {
    const whole = (kept ?? '') + text.slice(keptFrom, end);
    kept = null;
    return whole;
  }

  /** Whether a browser might take the element that begins for no text, or for none at all. */
  function isWary(): boolean {
    if (foreign.isMurky || hasColumns) return true;
    return isSelect && rawName !== 'script' && rawName !== 'textarea';
  }

  function noteAttributes(attributes: Map<string, string>): void {
    if (name === 'base') base ??= attributes.get('href') ?? null;
    else if (name === 'script') {
      if (attributes.has('data-hindsight') && attributes.has('data-token')) lost = 'there';
    } else if (
      name === 'meta' &&
      /^\s*content-security-policy\s*$/i.test(attributes.get('http-equiv') ?? '')
    ) {
      policies.push(attributes.get('content') ?? '');
    }
  }

  /** `text`: its attributes, where they are read. */
  function start(text: string | null, isSelfClosing: boolean): void {
    state = DATA;
    if (isDocument === undefined) isDocument = name === 'html';
    if (foreign.isPlain && !NOTED.has(name)) return;
    const attributes = text === null ? null : attributesOf(text);
    if (!foreign.start(name, isSelfClosing, (key) => attributes?.get(key))) {
      if (isSelect || foreign.isMurky) foreign.muddle();
      return;
    }
    if (attributes !== null) noteAttributes(attributes);
    if (name === 'frameset' || name === 'plaintext') lost = name;
    else if (name === 'select') isSelect = true;
    else if (name === 'template') templates++;
    else if (name === 'col') hasColumns = templates > 0;
    else if (RAW_ELEMENTS.has(name)) {
      state = RAW;
      rawName = name;
      escaped = dashes = 0;
    }
  }

  function end(): void {
    state = DATA;
    if (isDocument === undefined) isDocument = false;
    if (!foreign.isPlain && foreign.end(name)) return;
    if (name === 'select') isSelect = false;
    else if (name === 'template' && templates > 0 && --templates === 0) hasColumns = false;
  }

  function isPlace(): boolean {
    return (name === 'body' || name === 'html') && templates === 0 && !foreign.isForeign;
  }

  /** The tag ends before `i`. Gives its place where that is behind it. */
  function emit(text: string, i: number, isSelfClosing: boolean): Place | null {
    const attributes = kept === null ? null : take(text, i - 1);
    if (!isEndTag) {
      start(attributes, isSelfClosing);
      return null;
    }
    const isHere = tagAt === -1 && isPlace();
    end();
    return isHere && isDocument === true && lost === null ? { at: i, closing: `</${name}>` } : null;
  }

  function doctype(text: string): void {
    if (isDocument === undefined) isDocument = /^\s*html(?:\s|$)/i.test(text);
  }

  /** `<` inside of raw text that does not end it. */
  function goOnRaw(): void {
    state = RAW;
    if (isWary()) lost = 'unclear';
  }

  /** Inside `<!--` of a script: one character. */
  function escapedCharacter(code: number): void {
    if (code === DASH) dashes = Math.min(2, dashes + 1);
    else {
      if (code === GREATER && dashes === 2) escaped = 0;
      dashes = 0;
    }
  }

  function rawText(text: string, from: number): number {
    let i = from;
    if (escaped === 0) {
      const next = text.indexOf('<', i);
      if (next === -1) return text.length;
      i = next;
    } else {
      for (; i < text.length && text.charCodeAt(i) !== LESS; i++) escapedCharacter(text.charCodeAt(i));
      if (i === text.length) return i;
      dashes = 0;
    }
    tagAt = i;
    state = RAW_OPEN;
    return i + 1;
  }

  function rawOpen(code: number, i: number): number {
    name = '';
    if (code === SLASH) {
      state = escaped === 2 ? SCRIPT_NAME : RAW_NAME;
      return i + 1;
    }
    if (rawName === 'script' && escaped === 0 && code === BANG) {
      state = SCRIPT_BANG;
      dashes = 0;
      return i + 1;
    }
    if (escaped === 1 && isLetter(code)) state = SCRIPT_NAME;
    else goOnRaw();
    return i;
  }

  function declaration(text: string, i: number): number {
    const code = text.charCodeAt(i);
    const word = name + String.fromCharCode(code);
    if (word === '--') {
      state = COMMENT_START;
      return i + 1;
    }
    const isDoctype = 'doctype'.startsWith(word.toLowerCase());
    if (word !== '-' && !isDoctype && !'[CDATA['.startsWith(word)) {
      state = BOGUS;
      return i;
    }
    name = word;
    if (word.length < KEYWORD) return i + 1;
    if (isDoctype) {
      state = DOCTYPE;
      keep(i + 1);
    } else {
      if (foreign.isMurky) lost = 'unclear';
      state = foreign.isForeign ? CDATA : BOGUS;
      dashes = 0;
    }
    return i + 1;
  }

  /** One step of what lies between `<` and `>`; gives where to go on. */
  function markup(text: string, i: number): number {
    const code = text.charCodeAt(i);
    switch (state) {
      case TAG_OPEN:
        isEndTag = false;
        name = '';
        if (code === SLASH) state = END_OPEN;
        else if (code === BANG) state = DECLARATION;
        else if (isLetter(code)) return ((state = NAME), i);
        else if (code === QUESTION) state = BOGUS;
        else {
          if (isDocument === undefined) isDocument = false;
          return ((state = DATA), i);
        }
        return i + 1;
      case END_OPEN:
        isEndTag = true;
        if (isLetter(code)) return ((state = NAME), i);
        state = code === GREATER ? DATA : BOGUS;
        return code === GREATER ? i + 1 : i;
      case DECLARATION:
        return declaration(text, i);
      case BEFORE_ATTRIBUTE:
        if (!isSpace(code)) state = code === SLASH ? SELF_CLOSING : ATTRIBUTE;
        return i + 1;
      case ATTRIBUTE:
        if (isSpace(code)) return ((state = AFTER_ATTRIBUTE), i + 1);
        if (code === SLASH || code === GREATER) return ((state = BEFORE_ATTRIBUTE), i);
        if (code === EQUALS) state = BEFORE_VALUE;
        return i + 1;
      case AFTER_ATTRIBUTE:
        if (isSpace(code)) return i + 1;
        if (code === EQUALS) return ((state = BEFORE_VALUE), i + 1);
        state = code === SLASH ? SELF_CLOSING : ATTRIBUTE;
        return i + 1;
      case BEFORE_VALUE:
        if (isSpace(code)) return i + 1;
        if (code === GREATER) return ((state = BEFORE_ATTRIBUTE), i);
        state = code === QUOTE ? DOUBLE : code === APOSTROPHE ? SINGLE : UNQUOTED;
        return i + 1;
      case UNQUOTED:
        if (isSpace(code) || code === GREATER) return ((state = BEFORE_ATTRIBUTE), i);
        return i + 1;
      case AFTER_VALUE:
        state = BEFORE_ATTRIBUTE;
        return i;
      default:
        return i + 1;
    }
  }

  /** One step inside of a comment. */
  function comment(code: number, i: number): number {
    switch (state) {
      case COMMENT_START:
      case COMMENT_START_DASH:
        if (code === GREATER) state = DATA;
        else if (code === DASH) state = state === COMMENT_START ? COMMENT_START_DASH : COMMENT_END;
        else state = COMMENT;
        return i + 1;
      case COMMENT_DASH:
        state = code === DASH ? COMMENT_END : COMMENT;
        return i + 1;
      case COMMENT_END:
        if (code === GREATER) state = DATA;
        else if (code === BANG) state = COMMENT_BANG;
        else if (code !== DASH) state = COMMENT;
        return i + 1;
      default:
        state = code === GREATER ? DATA : code === DASH ? COMMENT_DASH : COMMENT;
        return i + 1;
    }
  }

  /** One step after `<` inside of raw text. */
  function rawMarkup(text: string, i: number): number {
    const code = text.charCodeAt(i);
    if (state === RAW_OPEN) return rawOpen(code, i);
    if (state === SCRIPT_BANG) {
      if (code !== DASH) return (goOnRaw(), i);
      if (++dashes === 2) {
        escaped = 1;
        goOnRaw();
      }
      return i + 1;
    }
    if (isLetter(code)) {
      if (name.length < LONGEST_NAME) name += String.fromCharCode(code | 32);
      return i + 1;
    }
    if (state === SCRIPT_NAME) {
      if (!endsName(code)) return (goOnRaw(), i);
      if (name === 'script') escaped = escaped === 1 ? 2 : 1;
      dashes = 0;
      goOnRaw();
      return i + 1;
    }
    if (name !== rawName || !endsName(code)) return (goOnRaw(), i);
    isEndTag = true;
    state = BEFORE_ATTRIBUTE;
    return i;
  }

  /** Past the next `character`, which leads to `after`; past the piece where there is none. */
  function skipTo(text: string, from: number, character: string, after: number): number {
    const at = text.indexOf(character, from);
    if (at === -1) return text.length;
    state = after;
    return at + 1;
  }

  function readName(text: string, from: number): number {
    let i = from;
    while (i < text.length && !endsName(text.charCodeAt(i))) i++;
    const isWhole = i < text.length;
    if (name.length < LONGEST_NAME) name += text.slice(from, i).toLowerCase();
    if (isWhole) {
      state = BEFORE_ATTRIBUTE;
      if (!isEndTag && READ.has(name)) keep(i);
    }
    return i;
  }

  /** Whether the tag whose name was read in this piece is the place. */
  function isPlaceHere(): boolean {
    return tagAt !== -1 && isEndTag && isPlace() && isDocument === true && lost === null;
  }

  /** From behind a name to `>` or `/>`, where what lies between is well formed and lies in this piece; else no further. */
  function skipAttributes(text: string, i: number): number {
    if (text.charCodeAt(i) === GREATER) return i;
    WELL_FORMED.lastIndex = i;
    return WELL_FORMED.test(text) ? WELL_FORMED.lastIndex : i;
  }

  function data(text: string, from: number): number {
    if (isDocument === true && foreign.isPlain) {
      PLAIN_CONTENT.lastIndex = from;
      if (PLAIN_CONTENT.test(text)) return PLAIN_CONTENT.lastIndex;
    }
    const next = text.indexOf('<', from);
    if (isDocument === undefined && /[^\t\n\f\r ]/.test(text.slice(from, next === -1 ? undefined : next)))
      isDocument = false;
    if (next === -1) return text.length;
    tagAt = next;
    state = TAG_OPEN;
    return next + 1;
  }

  function cdata(code: number, i: number): number {
    if (code === GREATER && dashes === 2) state = DATA;
    dashes = code === CLOSING ? Math.min(2, dashes + 1) : 0;
    return i + 1;
  }

  /** Asks it anew, after a step that may have changed it. */
  const reached = (asked: number): boolean => state === asked;

  function feed(text: string): Place | null {
    let i = 0;
    tagAt = -1;
    keptFrom = 0;
    if (!started && text !== '') {
      started = true;
      // The byte-order mark, as a character or as bytes.
      i = text.startsWith('\ufeff') ? 1 : text.startsWith('\xef\xbb\xbf') ? 3 : 0;
    }
    while (i < text.length && lost === null && isDocument !== false) {
      switch (state) {
        case DATA:
          i = data(text, i);
          break;
        case NAME:
          i = readName(text, i);
          if (reached(NAME)) break;
          if (isPlaceHere()) return { at: tagAt, closing: '' };
          i = skipAttributes(text, i);
          break;
        case DOUBLE:
          i = skipTo(text, i, '"', AFTER_VALUE);
          break;
        case SINGLE:
          i = skipTo(text, i, "'", AFTER_VALUE);
          break;
        case BOGUS:
          i = skipTo(text, i, '>', DATA);
          break;
        case DOCTYPE:
          i = skipTo(text, i, '>', DATA);
          if (reached(DATA)) doctype(take(text, i - 1));
          break;
        case COMMENT:
          i = skipTo(text, i, '-', COMMENT_DASH);
          break;
        case COMMENT_START:
        case COMMENT_START_DASH:
        case COMMENT_DASH:
        case COMMENT_END:
        case COMMENT_BANG:
          i = comment(text.charCodeAt(i), i);
          break;
        case CDATA:
          i = cdata(text.charCodeAt(i), i);
          break;
        case RAW:
          i = rawText(text, i);
          break;
        case RAW_OPEN:
        case RAW_NAME:
        case SCRIPT_BANG:
        case SCRIPT_NAME:
          i = rawMarkup(text, i);
          break;
        case BEFORE_ATTRIBUTE:
        case AFTER_ATTRIBUTE:
        case SELF_CLOSING:
          if (text.charCodeAt(i) === GREATER) {
            const place = emit(text, i + 1, state === SELF_CLOSING);
            if (place !== null) return place;
            i++;
          } else if (state === SELF_CLOSING) state = BEFORE_ATTRIBUTE;
          else i = markup(text, i);
          break;
        default:
          i = markup(text, i);
      }
    }
    if (kept !== null) {
      kept += text.slice(keptFrom);
      if (kept.length > LONGEST_TAG) lost = 'unclear';
    }
    return null;
  }

  return {
    feed,
    isDocument: () => isDocument,
    problem() {
      if (lost !== null) return lost;
      return state === DATA && templates === 0 && !foreign.isForeign ? null : 'unfinished';
    },
    policies,
    base: () => base,
  };
}
