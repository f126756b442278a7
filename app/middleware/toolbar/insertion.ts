/**
 * Inserts the tag into the body of one response, in the chunk that contains its place. Chunks are neither delayed, split nor joined. If
 * the first chunk contains the place, a Content-Length that is not sent yet is increased by the tag.
 */
import type { ServerResponse } from 'node:http';
import { headerText, isHtmlResponse, type Refusal, refusalOf } from './eligible.ts';
import type { MadeTag } from './tag.ts';

type NoPlace = 'fragment' | 'there' | 'unclear';

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
 * The place is after `<head>` or, without that tag, before the first content: up to there browsers create only `<html>`, `<head>` and comments
 * (HTML standard, 13.2.6.4.1 to 13.2.6.4.4). Returns a function that is called with each chunk in order and returns the index in the chunk: -1 if the content's `<` ended the
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

type Absence = Refusal | NoPlace | `policy:${string}`;

interface InsertionOptions {
  res: ServerResponse;
  make: (policies: readonly string[]) => MadeTag;
  onOutcome: (outcome: { tag: string; absent: Absence | null }) => void;
}

interface Piece {
  chunk: unknown;
  encoding: unknown;
}

const AS_TEXT = /^(?:utf-?8|latin1|binary|ascii)$/i;

interface Opened {
  isEmpty: boolean;
  read(): string;
  insert(at: number, markup: string): Piece;
}

function openBytes(bytes: Buffer): Opened {
  return {
    isEmpty: bytes.length === 0,
    read: () => bytes.toString('latin1', 0, MOST_LOOKED_AT),
    insert: (at, markup) => ({
      chunk: Buffer.concat([bytes.subarray(0, at), Buffer.from(markup, 'latin1'), bytes.subarray(at)]),
      encoding: undefined,
    }),
  };
}

function open({ chunk, encoding }: Piece): Opened | null {
  if (chunk instanceof Uint8Array)
    return openBytes(
      Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
    );
  if (typeof chunk !== 'string') return null;
  const named = typeof encoding === 'string' && encoding !== '' ? encoding : 'utf8';
  if (AS_TEXT.test(named))
    return {
      isEmpty: chunk === '',
      read: () => chunk,
      insert: (at, markup) => ({ chunk: chunk.slice(0, at) + markup + chunk.slice(at), encoding }),
    };
  return Buffer.isEncoding(named) ? openBytes(Buffer.from(chunk, named)) : null;
}

/** Changes the value only: the header's spelling, position and type of value stay. */
function addLength(res: ServerResponse, bytes: number): void {
  const value = res.getHeader('content-length');
  if (value === undefined || res.headersSent) return;
  const { getRawHeaderNames } = res as { getRawHeaderNames?: (this: ServerResponse) => string[] };
  const name = getRawHeaderNames?.call(res).find((raw) => raw.toLowerCase() === 'content-length');
  const length = Number(value) + bytes;
  res.setHeader(name ?? 'content-length', typeof value === 'number' ? length : String(length));
}

export function createInsertion({ res, make, onOutcome }: InsertionOptions) {
  const findPlace = createPlaceFinder();
  let hasBegun = false;
  let isOver = false;

  function finish(absent: Absence | null, tag = ''): void {
    isOver = true;
    onOutcome({ tag, absent });
  }

  function begin(): void {
    hasBegun = true;
    // The profiler's own error page has no toolbar.
    if (!isHtmlResponse(res) || res.hasHeader('x-previous-debug-token')) {
      isOver = true;
      return;
    }
    const refusal = refusalOf(res);
    if (refusal !== null) finish(refusal);
  }

  function put(opened: Opened, piece: Piece, at: number): Piece {
    const policies = ['content-security-policy', 'content-security-policy-report-only']
      .map((name) => headerText(res, name))
      .filter((text) => text !== '');
    const made = make(policies);
    if ('against' in made) {
      finish(`policy:${made.against}`);
      return piece;
    }
    const { tag } = made;
    // The content's `<` was sent with the previous chunk: use it for our tag, and add another for the content.
    const changed = at === -1 ? opened.insert(0, `${tag.slice(1)}<`) : opened.insert(at, tag);
    finish(null, tag);
    addLength(res, tag.length);
    return changed;
  }

  function look(piece: Piece, isLast: boolean): Piece {
    const opened = open(piece);
    if (opened === null || opened.isEmpty) {
      if (isLast && hasBegun) finish('unclear');
      return piece;
    }
    if (!hasBegun) begin();
    if (isOver) return piece;
    const place = findPlace(opened.read());
    if (typeof place === 'number') return put(opened, piece, place);
    if (place !== null) finish(place);
    else if (isLast) finish('unclear');
    // The headers are sent with the first chunk.
    else if (res.hasHeader('content-length')) finish('announced');
    return piece;
  }

  return {
    pass(piece: Piece, isLast: boolean): Piece {
      if (isOver) return piece;
      try {
        return look(piece, isLast);
      } catch {
        isOver = true;
        return piece;
      }
    },
    hasBegun: (): boolean => hasBegun,
    isOver: (): boolean => isOver,
  };
}

export type Insertion = ReturnType<typeof createInsertion>;
