/**
 * The tag of the toolbar, put into the documents that people look at, and into nothing else. Decision 15 says why it stands where it does,
 * and why a response gets `write` and `end` of its own that stay the outermost.
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
  /** One of the wrappers is calling what it wraps. */
  isBusy: boolean;
}

/** A response whose methods are replaced more often than this is followed no further. */
const MOST_WRAPPERS = 10;

/** The method that `res` has now; an inherited one is looked up at each call, for others may replace it later. */
function methodOf(res: object, method: Method): Call {
  if (Object.hasOwn(res, method)) return (res as Record<Method, Call>)[method];
  return function inherited(this: object, ...args) {
    const prototype = Object.getPrototypeOf(this) as Record<Method, Call>;
    return Reflect.apply(prototype[method], this, args);
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

/** Wraps `method`, and wraps it once more whenever somebody replaces it before the body begins. Only the outermost wrapper acts. */
function stayOutermost(res: object, method: Method, attached: Attached): void {
  const { insertion } = attached;
  const wrappers: Call[] = [];
  let current: unknown;

  function wrap(inner: Call): void {
    const wrapper: Call = function (this: unknown, ...args: unknown[]) {
      const self = this as ServerResponse;
      if (attached.isBusy || insertion.isOver() || wrappers.at(-1) !== wrapper || self.writableEnded)
        return Reflect.apply(inner, self, args);
      const { piece, rest } = readArguments(args);
      const passed = insertion.pass(piece, method === 'end');
      const given = passed === piece ? args : [passed.chunk, passed.encoding, ...rest];
      // `end` of HTTP/2 calls `write`.
      attached.isBusy = true;
      try {
        return Reflect.apply(inner, self, given);
      } finally {
        attached.isBusy = false;
      }
    };
    wrappers.push(wrapper);
    current = wrapper;
  }

  function replace(given: unknown): void {
    const known = wrappers.findIndex((wrapper) => wrapper === given);
    // Somebody who had replaced it puts back what was there.
    if (known !== -1) wrappers.length = known + 1;
    if (
      known === -1 &&
      typeof given === 'function' &&
      wrappers.length < MOST_WRAPPERS &&
      !insertion.hasBegun()
    )
      wrap(given as Call);
    else current = given;
  }

  wrap(methodOf(res, method));
  Object.defineProperty(res, method, {
    get: () => current,
    set: replace,
    enumerable: true,
    configurable: true,
  });
}

/** Whether both can be put on it: a host may have frozen it. */
function takesMethods(res: object): boolean {
  return ['write', 'end'].every(
    (method) => Object.getOwnPropertyDescriptor(res, method)?.configurable ?? Object.isExtensible(res),
  );
}

/** The nonce that a host keeps for its templates; an accessor is not called, nor a function. */
function localsNonceOf(res: ServerResponse): string | null {
  const { locals } = res as ServerResponse & { locals?: unknown };
  if (typeof locals !== 'object' || locals === null) return null;
  for (const name of ['cspNonce', 'nonce']) {
    const value: unknown = Object.getOwnPropertyDescriptor(locals, name)?.value;
    if (isNonce(value)) return value;
  }
  return null;
}

export function createToolbar({ script }: ToolbarOptions): Toolbar {
  return {
    attach(req, res, context) {
      if (!asksForDocument(req) || !takesMethods(res)) return;
      const insertion = createInsertion({
        res,
        make: (policies) =>
          makeTag({
            token: context.token,
            script: script(),
            policies,
            origin: context.first('request')?.origin.origin ?? null,
            localsNonce: localsNonceOf(res),
          }),
        onOutcome: (outcome) => {
          context.add('toolbar', outcome);
        },
      });
      const attached = { insertion, isBusy: false };
      stayOutermost(res, 'write', attached);
      stayOutermost(res, 'end', attached);
    },
  };
}
