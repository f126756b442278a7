/**
 * One body on its way: puts the tag into the piece in which its place is. Nothing is held back, and no piece is more or less.
 * A length that is known and not yet sent grows by the tag, if the first piece reaches the place.
 */
import type { ServerResponse } from 'node:http';
import { headerText, isHtmlResponse, type Refusal, refusalOf } from './eligible.ts';
import { createPlaceFinder, MOST_LOOKED_AT, type NoPlace } from './place-finder.ts';
import type { MadeTag } from './tag.ts';

/** Why a document got no tag; what begins with `policy:` ends with a directive. */
export type Absence = Refusal | NoPlace | `policy:${string}`;

export interface InsertionOptions {
  res: ServerResponse;
  /** The tag under these policies. */
  make: (policies: readonly string[]) => MadeTag;
  /** Called once with what was put in, or why nothing was; not for responses that are no documents. */
  onOutcome: (outcome: { tag: string; absent: Absence | null }) => void;
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

const AS_TEXT = /^(?:utf-?8|latin1|binary|ascii)$/i;

/** A piece as text in which markup can be found, and how something is put into it. */
interface Opened {
  text: string;
  insert(at: number, markup: string): Piece;
}

function openBytes(bytes: Buffer): Opened {
  return {
    text: bytes.toString('latin1', 0, MOST_LOOKED_AT),
    insert: (at, markup) => ({
      chunk: Buffer.concat([bytes.subarray(0, at), Buffer.from(markup, 'latin1'), bytes.subarray(at)]),
      encoding: undefined,
    }),
  };
}

/** null if it can't be part of a body; Node rejects it itself. */
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
      insert: (at, markup) => ({ chunk: chunk.slice(0, at) + markup + chunk.slice(at), encoding }),
    };
  return Buffer.isEncoding(named) ? openBytes(Buffer.from(chunk, named)) : null;
}

/** The header keeps its spelling, its place and its kind of value. */
function addLength(res: ServerResponse, bytes: number): void {
  const value = res.getHeader('content-length');
  if (value === undefined || res.headersSent) return;
  const { getRawHeaderNames } = res as { getRawHeaderNames?: (this: ServerResponse) => string[] };
  const name = getRawHeaderNames?.call(res).find((raw) => raw.toLowerCase() === 'content-length');
  const length = Number(value) + bytes;
  res.setHeader(name ?? 'content-length', typeof value === 'number' ? length : String(length));
}

export function createInsertion({ res, make, onOutcome }: InsertionOptions): Insertion {
  const findPlace = createPlaceFinder();
  let hasBegun = false;
  let isOver = false;

  function finish(absent: Absence | null, tag = ''): void {
    isOver = true;
    onOutcome({ tag, absent });
  }

  /** With the first piece: what the headers say. */
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
    // The `<` that went out before begins the tag, and another one what it began.
    const changed = at === -1 ? opened.insert(0, `${tag.slice(1)}<`) : opened.insert(at, tag);
    finish(null, tag);
    addLength(res, tag.length);
    return changed;
  }

  function look(piece: Piece, isLast: boolean): Piece {
    const opened = open(piece);
    if (opened === null || opened.text === '') {
      if (isLast && hasBegun) finish('unclear');
      return piece;
    }
    if (!hasBegun) begin();
    if (isOver) return piece;
    const place = findPlace(opened.text);
    if (typeof place === 'number') return put(opened, piece, place);
    if (place !== null) finish(place);
    else if (isLast) finish('unclear');
    // The first piece takes the headers along.
    else if (res.hasHeader('content-length')) finish('announced');
    return piece;
  }

  return {
    pass(piece, isLast) {
      if (isOver) return piece;
      try {
        return look(piece, isLast);
      } catch {
        isOver = true;
        return piece;
      }
    },
    hasBegun: () => hasBegun,
    isOver: () => isOver,
  };
}
