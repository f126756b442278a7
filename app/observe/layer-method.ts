/**
 * Replaces `handleRequest` or `handleError` of a router's layers without additional frames in the host's stacks: for a known method, the
 * replacement does the same with calls at the same file, line and column. A wrapper would add one or two frames per layer, and an error
 * has room for ten.
 */
import type { IncomingMessage } from 'node:http';
import { Script } from 'node:vm';
import type { Layer } from '../profiler/express-routers.ts';
import { takeSites } from './caller.ts';

type Callable = (...args: never[]) => unknown;

/** What the method reports and queries. None of it may throw. */
export interface MethodTrace<Call> {
  /** null: the call is not traced. undefined: the original method runs. */
  open(layer: Layer, handle: Callable, req: IncomingMessage): Call | null | undefined;
  returned(call: Call, result: unknown, handle: Callable): void;
  threw(call: Call, error: unknown): void;
  /** An error comes by, whether the layer handles errors or not. */
  passed(req: IncomingMessage, error: unknown): void;
}

/** Express 4, router 2.0 to 2.2, and 2.3 without subscribers; comments and white space removed. */
const CALLS = [
  'try{fn(ARGS);}catch(err){next(err);}}',
  "try{constret=fn(ARGS)if(isPromise(ret)){if(!(retinstanceofPromise)){deprecate('handlersthatarePromise-likearedeprecated,useanativePromiseinstead')}ret.then(null,function(error){next(error||newError('Rejectedpromise'))})}}catch(err){next(err)}}",
  "try{constret=handlePromise(fn(ARGS))if(ret){ret.then(noop,function(error){next(error||newError('Rejectedpromise'))})}}catch(err){next(err)}return}invokeWithTrace(",
];
const GUARDS = {
  request:
    'fn=this.handle;?if\\(fn\\.length>3\\)\\{returnnext\\(\\);?\\}(?:if\\(this\\.route\\|\\|!shouldTrace\\(requestChannel\\)\\)\\{)?',
  error:
    'fn=this.handle;?if\\(fn\\.length!==4\\)\\{returnnext\\(error\\);?\\}(?:if\\(!shouldTrace\\(requestChannel\\)\\)\\{)?',
} as const;
const PARAMS = { request: ['req', 'res', 'next'], error: ['error', 'req', 'res', 'next'] } as const;

export type MethodKind = keyof typeof PARAMS;

/** Whether it is a method that does what ours does. */
function isKnown(method: Callable, kind: MethodKind): boolean {
  const source = Function.prototype.toString
    .call(method)
    .replace(/\/\/.*$/gm, '')
    .replace(/\s+/g, '');
  const params = PARAMS[kind].join(',');
  const start = new RegExp(`^function\\w*\\(${params}\\)\\{(?:const|var)${GUARDS[kind]}`).exec(source)?.[0];
  return (
    start !== undefined && CALLS.some((call) => source.startsWith(call.replace('ARGS', params), start.length))
  );
}

interface Position {
  file: string;
  line: number;
  column: number;
}

/** Where the method calls something: `probe` is called by it. */
function positionOf(run: (probe: Callable) => void): Position | null {
  let position = null as Position | null;
  function probe(): void {
    const [site] = takeSites(1, probe);
    const file = site?.getFileName() ?? null;
    const line = site?.getLineNumber() ?? null;
    const column = site?.getColumnNumber() ?? null;
    if (file !== null && line !== null && column !== null) position ??= { file, line, column };
  }
  run(probe);
  return position;
}

/** A function of as many parameters as the guard lets by, or not. */
function ofLength(length: number, call: () => unknown): Callable {
  return Object.defineProperty(() => call(), 'length', { value: length });
}

/** The guard's call of `next`, that of the handler, and that of `next` with what the handler threw. */
function positionsOf(method: Callable, kind: MethodKind): readonly Position[] | null {
  const [right, wrong] = kind === 'request' ? [3, 4] : [4, 3];
  const call = (handle: Callable, next: Callable): unknown => {
    const args = kind === 'request' ? [{}, {}, next] : [new Error(), {}, {}, next];
    // With a route, router 2.3 publishes nothing.
    return Reflect.apply(method, { handle, route: {} }, args as never[]);
  };
  const positions = [
    positionOf((probe) =>
      call(
        ofLength(wrong, () => undefined),
        probe,
      ),
    ),
    positionOf((probe) => call(Object.defineProperty(probe, 'length', { value: right }), () => undefined)),
    positionOf((probe) =>
      call(
        ofLength(right, () => {
          throw new Error('probe');
        }),
        probe,
      ),
    ),
  ].filter((position) => position !== null);
  const isInOrder = positions.every(
    ({ file, line }, index) =>
      index === 0 || (file === positions[0]?.file && line > (positions[index - 1]?.line ?? Infinity)),
  );
  return positions.length === 3 && isInOrder && (positions[0]?.line ?? 0) > 1 ? positions : null;
}

/** The text of the method, with its three calls at their places; the first line is the one before the first of them. */
function sourceOf(
  name: string,
  kind: MethodKind,
  [guard, call, next]: readonly [Position, Position, Position],
): string {
  const params = PARAMS[kind].join(', ');
  const isGuarded = kind === 'request' ? 'fn.length > 3' : 'fn.length !== 4';
  const length = kind === 'request' ? '(req, res, next)' : '(error, req, res, next)';
  const at = (from: Position, to: Position): string =>
    '\n'.repeat(to.line - from.line) + ' '.repeat(to.column - 1);
  return (
    `(function (trace, original) { return function ${name}(${params}) { const fn = this.handle; ` +
    `${kind === 'error' ? 'trace.passed(req, error); ' : ''}if (${isGuarded}) {\n${' '.repeat(guard.column - 1)}` +
    `next(${kind === 'error' ? 'error' : ''}); return; } const call = trace.open(this, fn, req); ` +
    `if (call === undefined) return original.call(this, ${params}); let result; try { result =${at(guard, call)}` +
    `fn(${params}); } catch (thrown) { if (call !== null) trace.threw(call, thrown); ` +
    `if (!thrown) return original.call({ handle: ${length} => { throw thrown; } }, ${params}); {${at(call, next)}` +
    `next(thrown); return; } } if (call !== null) trace.returned(call, result, fn); ` +
    `if (result && typeof result.then === 'function') original.call({ route: {}, handle: ${length} => result }, ${params}); }; })`
  );
}

/** A replacement for `original`; null if we don't know that method. */
export function createLayerMethod<Call, M extends Callable>(
  original: M,
  kind: MethodKind,
  trace: MethodTrace<Call>,
): M | null {
  if (!isKnown(original, kind) || !/^\w+$/.test(original.name)) return null;
  const positions = positionsOf(original, kind);
  if (positions === null) return null;
  const [guard] = positions as [Position, Position, Position];
  const script = new Script(sourceOf(original.name, kind, positions as [Position, Position, Position]), {
    filename: guard.file,
    lineOffset: guard.line - 2,
  });
  const make = script.runInThisContext() as (trace: MethodTrace<Call>, original: M) => M;
  return make(trace, original);
}
