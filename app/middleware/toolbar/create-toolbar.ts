/**
 * Inserts the toolbar's tag into documents that a person opens in a browser, and into no other response. Decision 15 gives the reasons for
 * its place, and for replacing `write` and `end` of a response by wrappers that stay the outermost.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../../profiler/record/context.ts';
import { asksForDocument } from './eligible.ts';
import { createInsertion, type Insertion } from './insertion.ts';
import { makeTag } from './tag.ts';

export interface ToolbarOptions {
  scriptUrl: () => string;
}

type Method = 'write' | 'end';
type Call = (...args: unknown[]) => unknown;

interface Attached {
  insertion: Insertion;
  isBusy: boolean;
}

/** If a response's methods are replaced more often than this, we stop wrapping them. */
const MOST_WRAPPERS = 10;

/** The current method of `res`. An inherited one is looked up at each call, because others may replace it later. */
function methodOf(res: object, method: Method): Call {
  if (Object.hasOwn(res, method)) return (res as Record<Method, Call>)[method];
  return function inherited(this: object, ...args) {
    const prototype = Object.getPrototypeOf(this) as Record<Method, Call>;
    return Reflect.apply(prototype[method], this, args);
  };
}

function readArguments(args: readonly unknown[]): {
  piece: { chunk: unknown; encoding: unknown };
  rest: unknown[];
} {
  const [chunk, encoding] = args;
  if (typeof chunk === 'function') return { piece: { chunk: undefined, encoding: undefined }, rest: [chunk] };
  if (typeof encoding === 'function') return { piece: { chunk, encoding: undefined }, rest: args.slice(1) };
  return { piece: { chunk, encoding }, rest: args.slice(2) };
}

interface Outermost {
  current: unknown;
  replace(given: unknown): void;
}

/** A property, not a WeakMap, so that a proxy around the response has it, too. */
const OUTERMOST = Symbol('outermost methods');
type WithOutermost = Record<typeof OUTERMOST, Record<Method, Outermost>>;

/** The same for all responses: with accessors of its own, V8 makes each response a dictionary. */
function accessorOf(method: Method): PropertyDescriptor & ThisType<WithOutermost> {
  return {
    get() {
      return this[OUTERMOST][method].current;
    },
    set(given: unknown) {
      this[OUTERMOST][method].replace(given);
    },
    enumerable: true,
    configurable: true,
  };
}
const ACCESSORS: Readonly<Record<Method, PropertyDescriptor>> = {
  write: accessorOf('write'),
  end: accessorOf('end'),
};

/** Wraps `method`, and wraps it again if somebody replaces it before the body begins. Only the outermost wrapper acts. */
function outermostOf(res: object, method: Method, attached: Attached): Outermost {
  const { insertion } = attached;
  const wrappers: Call[] = [];
  const outermost: Outermost = { current: undefined, replace };

  function wrap(inner: Call): void {
    const wrapper: Call = function (this: unknown, ...args: unknown[]) {
      const self = this as ServerResponse;
      if (attached.isBusy || insertion.isOver() || wrappers.at(-1) !== wrapper || self.writableEnded)
        return Reflect.apply(inner, self, args);
      const { piece, rest } = readArguments(args);
      const passed = insertion.pass(piece, method === 'end');
      const given = passed === piece ? args : [passed.chunk, passed.encoding, ...rest];
      // A method of the application may call the other one.
      attached.isBusy = true;
      try {
        return Reflect.apply(inner, self, given);
      } finally {
        attached.isBusy = false;
      }
    };
    wrappers.push(wrapper);
    outermost.current = wrapper;
  }

  function replace(given: unknown): void {
    const known = wrappers.findIndex((wrapper) => wrapper === given);
    // Code that had replaced the method restores the previous one.
    if (known !== -1) wrappers.length = known + 1;
    if (
      known === -1 &&
      typeof given === 'function' &&
      wrappers.length < MOST_WRAPPERS &&
      !insertion.hasBegun()
    )
      wrap(given as Call);
    else outermost.current = given;
  }

  wrap(methodOf(res, method));
  return outermost;
}

function takesMethods(res: object): boolean {
  return (
    Object.isExtensible(res) &&
    ['write', 'end'].every((method) => Object.getOwnPropertyDescriptor(res, method)?.configurable ?? true)
  );
}

export function attachToolbar(
  req: IncomingMessage,
  res: ServerResponse,
  { context, scriptUrl }: ToolbarOptions & { context: Context },
): void {
  if (!asksForDocument(req) || !takesMethods(res)) return;
  const insertion = createInsertion({
    res,
    make: (policies) =>
      makeTag({
        token: context.token,
        url: scriptUrl(),
        policies,
        origin: context.first('request')?.origin.origin ?? null,
      }),
    onOutcome: (outcome) => {
      context.add('toolbar', outcome);
    },
  });
  const attached = { insertion, isBusy: false };
  const outermost: WithOutermost[typeof OUTERMOST] = {
    write: outermostOf(res, 'write', attached),
    end: outermostOf(res, 'end', attached),
  };
  Object.defineProperty(res, OUTERMOST, { value: outermost, configurable: true });
  Object.defineProperty(res, 'write', ACCESSORS.write);
  Object.defineProperty(res, 'end', ACCESSORS.end);
}
