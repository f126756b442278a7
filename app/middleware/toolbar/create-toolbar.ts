/**
 * The tag of the toolbar, put into the documents that people look at, and into nothing else.
 *
 * A response gets its own `write` and `end` only where its request asks for a document. They are accessors: whoever replaces one later
 * (compression, sessions) is wrapped once more, because the tag has to be put into the text, above who encodes it or sends
 * the headers ahead of it. Of several wrappers of ours only the outermost does anything.
 *
 * Rejected: the shared methods of watched-response.ts, below all that a host puts on a response, where compressed bytes go by; and to look
 * when a layer goes on, which is too late for what it has sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../../profiler/context.ts';
import { asksForDocument } from './eligible.ts';
import { createInsertion, type Insertion } from './insertion.ts';
import { isNonce } from './policy.ts';
import { makeTag, type ServedScript } from './tag.ts';

export type { ServedScript } from './tag.ts';

export interface ToolbarOptions {
  /** The script as it is served now: asked once for each document. */
  script: () => ServedScript;
}

export interface Toolbar {
  /** A response that is watched from now on. */
  attach(req: IncomingMessage, res: ServerResponse, context: Context): void;
}

type Method = 'write' | 'end';
type Call = (...args: unknown[]) => unknown;

interface Attached {
  insertion: Insertion;
  /** One of ours is in the middle of handing something on. */
  isBusy: boolean;
}

/** Who replaces a method again and again is followed no further. */
const MOST_LEVELS = 10;

/** The method that `res` has now; what it inherits is looked up at each call, for others may replace it later. */
function methodBelow(res: object, method: Method): Call {
  if (Object.hasOwn(res, method)) return (res as Record<Method, Call>)[method];
  return function below(this: object, ...args) {
    const inherited = Object.getPrototypeOf(this) as Record<Method, Call>;
    return Reflect.apply(inherited[method], this, args);
  };
}

/** What `end` and `write` may be called with: a piece, its encoding and a callback, each of which may be missing. */
function readArguments(args: readonly unknown[]): {
  piece: { chunk: unknown; encoding: unknown };
  rest: unknown[];
} {
  const [chunk, encoding] = args;
  if (typeof chunk === 'function') return { piece: { chunk: undefined, encoding: undefined }, rest: [chunk] };
  if (typeof encoding === 'function') return { piece: { chunk, encoding: undefined }, rest: args.slice(1) };
  return { piece: { chunk, encoding }, rest: args.slice(2) };
}

/** Puts `method` above what `res` has, and keeps it there whoever replaces it. Tells whether it is still there. */
function stayOnTop(res: object, method: Method, attached: Attached): () => boolean {
  const { insertion } = attached;
  const levels: Call[] = [];
  /** What it is for whoever reads it. */
  let current: unknown;

  function wrap(below: Call): void {
    const level: Call = function (this: unknown, ...args: unknown[]) {
      const self = this as ServerResponse;
      if (attached.isBusy || insertion.isOver() || levels.at(-1) !== level || self.writableEnded)
        return Reflect.apply(below, self, args);
      const { piece, rest } = readArguments(args);
      const passed = insertion.pass(piece, method === 'end');
      const given = passed === piece ? args : [passed.chunk, passed.encoding, ...rest];
      // `end` of HTTP/2 calls `write`.
      attached.isBusy = true;
      try {
        return Reflect.apply(below, self, given);
      } finally {
        attached.isBusy = false;
      }
    };
    levels.push(level);
    current = level;
  }

  function replace(given: unknown): void {
    const known = levels.findIndex((level) => level === given);
    // Whoever replaced it takes that back.
    if (known !== -1) levels.length = known + 1;
    if (known === -1 && typeof given === 'function' && levels.length < MOST_LEVELS && !insertion.hasBegun())
      wrap(given as Call);
    else current = given;
  }

  wrap(methodBelow(res, method));
  Object.defineProperty(res, method, {
    get: () => current,
    set: replace,
    enumerable: true,
    configurable: true,
  });
  return () => Object.getOwnPropertyDescriptor(res, method)?.set === replace;
}

/** Whether both can be put on it: a host may have frozen it. */
function takesMethods(res: object): boolean {
  return ['write', 'end'].every(
    (method) => Object.getOwnPropertyDescriptor(res, method)?.configurable ?? Object.isExtensible(res),
  );
}

/** The nonce that a host keeps for its templates; an accessor is not called, nor a function. */
function spareNonceOf(res: ServerResponse): string | null {
  const { locals } = res as ServerResponse & { locals?: unknown };
  if (typeof locals !== 'object' || locals === null) return null;
  for (const name of ['cspNonce', 'nonce']) {
    const value: unknown = Object.getOwnPropertyDescriptor(locals, name)?.value;
    if (isNonce(value)) return value;
  }
  return null;
}

export function createToolbar({ script }: ToolbarOptions): Toolbar {
  function insertionFor(res: ServerResponse, context: Context, endsHere: () => boolean): Insertion {
    return createInsertion({
      res,
      endsHere,
      make: (document) =>
        makeTag({
          ...document,
          token: context.token,
          script: script(),
          origin: context.first('request')?.origin.origin ?? null,
          spareNonce: spareNonceOf(res),
        }),
      onAbsence: (why) => {
        context.add('toolbar', { absent: why, tag: '' });
      },
      onTag: (tag) => {
        context.add('toolbar', { absent: null, tag });
      },
    });
  }

  return {
    attach(req, res, context) {
      if (!asksForDocument(req) || !takesMethods(res)) return;
      let endsHere = (): boolean => false;
      const attached = { insertion: insertionFor(res, context, () => endsHere()), isBusy: false };
      stayOnTop(res, 'write', attached);
      endsHere = stayOnTop(res, 'end', attached);
    },
  };
}
