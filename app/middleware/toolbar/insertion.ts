/**
 * One body on its way: finds the place and puts the tag there, in the piece in which it is, so that nothing is held back and no piece
 * is more or less, but for the last where the document has no end tag.
 *
 * A length that is known and not yet sent is raised with the first piece; from then on exactly so many bytes more go out, come
 * what may: the tag, with blanks inside of it where it turns out shorter, or blanks alone at the end of a document that has no
 * place for it.
 */
import type { ServerResponse } from 'node:http';
import { headerText, isHtmlAnswer, type Refusal, refusalOf } from './eligible.ts';
import { createPlaceScanner, type PlaceScanner, type Unplaceable } from './html-place.ts';
import { type MadeTag, stretchTag } from './tag.ts';

/** Why a document got no tag; what begins with `policy:` ends with a directive. */
export type Absence = Refusal | Unplaceable | 'base' | 'late' | `policy:${string}`;

export interface InsertionOptions {
  res: ServerResponse;
  /** Whether the end of the body will be seen: nothing may be promised otherwise. */
  endsHere: () => boolean;
  /** The tag for what is known of the document now. */
  make: (document: { sent: readonly string[]; metas: readonly string[]; base: string | null }) => MadeTag;
  /** The document gets no tag; called once. Not for answers that are no documents. */
  onAbsence: (why: Absence) => void;
  /** It got the tag: all that was put in. */
  onTag: (tag: string) => void;
}

/** A piece as it is handed to `write` and `end`. */
export interface Piece {
  chunk: unknown;
  encoding: unknown;
}

export interface Insertion {
  /** The piece as it is to go out; the same object where nothing changes. */
  pass(piece: Piece, isLast: boolean): Piece;
  /** Whether a body has begun, and whether there is nothing more to do. */
  hasBegun(): boolean;
  isOver(): boolean;
}

/** Room for an end tag that has to be written again: `</body>`, `</html>`. */
const CLOSING = '</body>'.length;
const AS_TEXT = /^(?:utf-?8|latin1|binary|ascii)$/i;

/** A piece as text in which its markup can be found, and how something is put into it. */
interface Opened {
  text: string;
  insert(at: number, tag: string): Piece;
}

function openBytes(bytes: Buffer): Opened {
  return {
    text: bytes.toString('latin1'),
    insert: (at, tag) => ({
      chunk: Buffer.concat([bytes.subarray(0, at), Buffer.from(tag, 'latin1'), bytes.subarray(at)]),
      encoding: undefined,
    }),
  };
}

/** null for what is no piece of a body; Node refuses it by itself. */
function open({ chunk, encoding }: Piece): Opened | null {
  if (chunk instanceof Uint8Array)
    return openBytes(
      Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
    );
  if (typeof chunk !== 'string') return null;
  const named = typeof encoding === 'string' && encoding !== '' ? encoding : 'utf8';
  if (AS_TEXT.test(named))
    return {
      text: chunk,
      insert: (at, tag) => ({ chunk: chunk.slice(0, at) + tag + chunk.slice(at), encoding }),
    };
  return Buffer.isEncoding(named) ? openBytes(Buffer.from(chunk, named)) : null;
}

function isNothing(chunk: unknown): boolean {
  return chunk === undefined || chunk === null;
}

/** Whether headers that are out say more of the body than can be read back. */
function saysLength(res: ServerResponse): boolean {
  const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
  return typeof block === 'string' && /\r\n(?:content-length|content-encoding)\s*:/i.test(block);
}

function absenceOf(against: string): Absence {
  return against === 'base' ? 'base' : `policy:${against}`;
}

/** Bytes that the answer says it has, where it does. */
function lengthOf(res: ServerResponse): number | null | 'unreadable' {
  if (!res.hasHeader('content-length')) return null;
  const text = headerText(res, 'content-length');
  return /^\d{1,15}$/.test(text) ? Number(text) : 'unreadable';
}

/** The header keeps its spelling, its place and its kind of value. */
function setLength(res: ServerResponse, length: number): void {
  const { getRawHeaderNames } = res as { getRawHeaderNames?: (this: ServerResponse) => string[] };
  const name = getRawHeaderNames?.call(res).find((raw) => raw.toLowerCase() === 'content-length');
  const isNumber = typeof res.getHeader('content-length') === 'number';
  res.setHeader(name ?? 'content-length', isNumber ? length : String(length));
}

export function createInsertion({ res, endsHere, make, onAbsence, onTag }: InsertionOptions): Insertion {
  let scanner: PlaceScanner | null = null;
  let hasBegun = false;
  let isOver = false;
  /** Bytes that were promised and have not gone out yet. */
  let owed = 0;

  function giveUp(why: Absence | null): null {
    isOver = true;
    scanner = null;
    if (why !== null) onAbsence(why);
    return null;
  }

  function tagNow(found: PlaceScanner): MadeTag {
    const sent = ['content-security-policy', 'content-security-policy-report-only']
      .map((name) => headerText(res, name))
      .filter((text) => text !== '');
    return make({ sent, metas: found.policies, base: found.base() });
  }

  /** The text to put in: the tag, or blanks where it was promised and can't be; null for nothing. */
  function textFor(found: PlaceScanner, closing: string): string | null {
    const made = tagNow(found);
    if ('against' in made) {
      giveUp(absenceOf(made.against));
      return owed === 0 ? null : ' '.repeat(owed);
    }
    if (owed === 0) {
      giveUp(null);
      return made.tag + closing;
    }
    const stretched = stretchTag(made.tag, owed - closing.length);
    giveUp(stretched === null ? 'late' : null);
    return stretched === null ? ' '.repeat(owed) : stretched + closing;
  }

  /** What the headers say against it, with the first piece. */
  function begin(): PlaceScanner | null {
    hasBegun = true;
    // The profiler's own error page.
    if (!isHtmlAnswer(res) || res.hasHeader('x-previous-debug-token')) return giveUp(null);
    const refusal = refusalOf(res);
    if (refusal !== null) return giveUp(refusal);
    if (res.headersSent && (lengthOf(res) !== null || saysLength(res))) return giveUp('announced');
    if (lengthOf(res) === 'unreadable') return giveUp('announced');
    return createPlaceScanner();
  }

  /** With the first piece, where the length is known: what can't be known now is promised. */
  function promise(found: PlaceScanner, options: { isPlaced: boolean; isLast: boolean }): void {
    const length = lengthOf(res);
    if (res.headersSent || typeof length !== 'number') return;
    const problem = options.isPlaced || !options.isLast ? null : found.problem();
    if (problem !== null) return void giveUp(problem);
    if (!options.isLast && !endsHere()) return void giveUp(null);
    const made = tagNow(found);
    if ('against' in made) return void giveUp(absenceOf(made.against));
    const bytes = made.tag.length + (options.isPlaced || options.isLast ? 0 : CLOSING);
    setLength(res, length + bytes);
    owed = bytes;
  }

  function look(opened: Opened, piece: Piece, isLast: boolean): Piece {
    const isFirst = scanner === null;
    const found = isFirst ? begin() : scanner;
    if (found === null) return piece;
    scanner = found;
    const place = found.feed(opened.text);
    const isDocument = found.isDocument();
    if (isDocument === false || (isDocument === undefined && (isLast || lengthOf(res) !== null))) {
      giveUp('fragment');
      return piece;
    }
    if (isFirst) promise(found, { isPlaced: place !== null, isLast });
    if (isOver) return piece;
    if (place !== null) return put(opened, piece, { ...place, found });
    return isLast ? close(found, { opened, piece }) : piece;
  }

  function put(
    opened: Opened,
    piece: Piece,
    { at, closing, found }: { at: number; closing: string; found: PlaceScanner },
  ): Piece {
    const text = textFor(found, closing);
    owed = 0;
    if (text === null) return piece;
    if (text.trim() !== '') onTag(text);
    return opened.insert(at, text);
  }

  /** The document is over, and had no end tag. */
  function close(found: PlaceScanner, { opened, piece }: { opened: Opened; piece: Piece }): Piece {
    const problem = found.problem();
    if (problem === null) return put(opened, piece, { at: opened.text.length, closing: '', found });
    giveUp(problem);
    return pay(opened, piece);
  }

  /** Blanks for what was promised. */
  function pay(opened: Opened, piece: Piece): Piece {
    if (owed === 0) return piece;
    const blanks = ' '.repeat(owed);
    owed = 0;
    return opened.insert(opened.text.length, blanks);
  }

  function passUnsafe(piece: Piece, isLast: boolean): Piece {
    const opened = open(isNothing(piece.chunk) ? { chunk: '', encoding: undefined } : piece);
    if (opened === null) {
      // Who writes what is no piece gets an error from Node, and may go on behind it.
      if (owed === 0 && !isOver) giveUp(null);
      return piece;
    }
    if (opened.text === '' && !(isLast && (hasBegun || owed > 0))) return piece;
    return look(opened, piece, isLast);
  }

  return {
    pass(piece, isLast) {
      if (isOver && owed === 0) return piece;
      try {
        if (!isOver) return passUnsafe(piece, isLast);
      } catch {
        isOver = true;
        scanner = null;
      }
      try {
        const opened = isLast
          ? open(isNothing(piece.chunk) ? { chunk: '', encoding: undefined } : piece)
          : null;
        return opened === null ? piece : pay(opened, piece);
      } catch {
        return piece;
      }
    },
    hasBegun: () => hasBegun,
    isOver: () => isOver && owed === 0,
  };
}
