/**
 * NestJS 11 and later: what its exception filters answer, which Express never sees -> facts `error`; guards, interceptors, pipes and
 * controllers -> facts `span`. The functions that it registers as handlers have no name: they get that of controller and method.
 */
import diagnostics from 'node:diagnostics_channel';
import { type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import { routerOf, stackOf } from '../../profiler/record/express-routers.ts';
import { truncateText } from '../../profiler/record/plain.ts';
import { classOf, type NestStep, nestStepChannel, nestStepPatches } from '../channels/nestjs-steps.ts';
import { wrapCalls } from '../channels/wrap-method.ts';
import type { SpanFact } from '../manual.ts';
import { isRecord } from '../../profiler/json.ts';
import { recordError } from '../errors-seen.ts';
import type { LibraryPatch } from '../libraries.ts';
import type { FindMethod } from '../stacks/class-places.ts';
import { observeCalls } from '../observe-calls.ts';
import { closing, subscribeTo } from '../subscribe.ts';

const nestExceptionChannel = diagnostics.channel('express-hindsight:nestjs:exception');

interface Exports {
  ExceptionsHandler?: { prototype?: object };
  RouterExplorer?: { prototype?: object };
  MiddlewareModule?: { prototype?: object };
}

function nameHandler(handler: unknown, instance: unknown, method: unknown): void {
  const { constructor } = (instance ?? {}) as { constructor?: { name?: unknown } };
  if (typeof handler !== 'function' || handler.name !== '' || typeof constructor?.name !== 'string') return;
  Object.defineProperty(handler, 'name', {
    value: `${constructor.name}.${String(method)}`,
    configurable: true,
  });
}

interface Bound {
  wrapper: { metatype?: { name?: unknown } | null } | undefined;
  adapter: { getInstance?: () => unknown } | undefined;
}

/** Nest adds a function of its own for each class of middleware, one class after the other. */
async function nameMiddleware(bind: () => unknown, { wrapper, adapter }: Bound): Promise<unknown> {
  const app = adapter?.getInstance?.();
  const before = stackOf(routerOf(app))?.length ?? 0;
  const bound = await bind();
  const name = wrapper?.metatype?.name;
  // That of a function has a random name.
  if (typeof name === 'string' && /^[A-Z]/.test(name))
    for (const layer of stackOf(routerOf(app))?.slice(before) ?? [])
      for (const one of stackOf(layer.route) ?? [layer]) Reflect.set(one, 'name', name);
  return bound;
}

export const nestPatches: readonly LibraryPatch[] = [
  {
    name: '@nestjs/core',
    file: 'exceptions/exceptions-handler.js',
    isLazy: true,
    module: { file: 'exceptions/exceptions-handler.js', names: ['ExceptionsHandler'] },
    patch: (exports) =>
      wrapCalls((exports as Exports).ExceptionsHandler?.prototype, 'next', (call, _handler, [error]) => {
        nestExceptionChannel.publish({ error });
        return call();
      }),
  },
  {
    name: '@nestjs/core',
    file: 'router/router-explorer.js',
    isLazy: true,
    module: { file: 'router/router-explorer.js', names: ['RouterExplorer'] },
    patch: (exports) =>
      wrapCalls(
        (exports as Exports).RouterExplorer?.prototype,
        'createCallbackProxy',
        (call, _explorer, args) => {
          const handler = call();
          nameHandler(handler, args[0], args[2]);
          return handler;
        },
      ),
  },
  {
    name: '@nestjs/core',
    file: 'middleware/middleware-module.js',
    isLazy: true,
    module: { file: 'middleware/middleware-module.js', names: ['MiddlewareModule'] },
    patch: (exports) =>
      wrapCalls((exports as Exports).MiddlewareModule?.prototype, 'bindHandler', (call, _module, args) =>
        nameMiddleware(call, { wrapper: args[0], adapter: args[1] } as Bound),
      ),
  },
  ...nestStepPatches,
];

const NAME_LENGTH = 200;
const MOST_NAMES = 20;

/** `whitelist` leaves out what the class has no decorator for. */
function removedBy({ kind, given, as = '', result, error }: NestStep): SpanFact['removed'] {
  if (kind !== 'Pipe' || error !== undefined || !isRecord(given) || !isRecord(result)) return undefined;
  const names = Object.keys(given).filter((name) => given[name] !== undefined && result[name] === undefined);
  return names.length === 0
    ? undefined
    : { names: names.slice(0, MOST_NAMES), as: truncateText(as, NAME_LENGTH) };
}

/** `@Type(() => Boolean)` makes true of the text "false". */
function convertedBy({ kind, parameter = '', given, result, error }: NestStep): SpanFact['converted'] {
  if (kind !== 'Pipe' || error !== undefined) return undefined;
  const isOne = typeof given === 'string' && parameter !== '';
  const before = isOne ? { [parameter]: given } : given;
  const after = isOne ? { [parameter]: result } : result;
  if (!isRecord(before) || !isRecord(after)) return undefined;
  const fields = Object.keys(before).flatMap((name) => {
    const value = after[name];
    const isKnown = typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
    return isKnown && typeof before[name] === 'string'
      ? [{ name: truncateText(name, NAME_LENGTH), value }]
      : [];
  });
  const as = isOne ? '' : truncateText(classOf(result), NAME_LENGTH);
  return fields.length === 0 ? undefined : { fields: fields.slice(0, MOST_NAMES), as };
}

export function observeNest({ tracker, findMethod }: { tracker: ContextTracker; findMethod: FindMethod }): {
  close(): void;
} {
  const innermost = createSlot<number | null>('nestjs');
  const indexes = new WeakMap<NestStep, number>();

  return closing([
    subscribeTo<{ error: unknown }>(nestExceptionChannel, ({ error }) => {
      const context = tracker.observed();
      if (context !== undefined) recordError(context, error, { origin: 'passed on' });
    }),
    observeCalls<NestStep, 'span'>({
      tracker,
      fact: 'span',
      channel: nestStepChannel,
      describe(message, _findCaller, context) {
        const { kind, name, calls } = message;
        const inside = innermost.get(context) ?? null;
        // Pipes of a gateway or a resolver.
        if (kind === 'Pipe' && inside === null) return null;
        const index = context.all('span').length;
        indexes.set(message, index);
        if (kind === 'Interceptor' || kind === 'Controller') innermost.set(context, index);
        const text = truncateText(`${kind} ${name}`, NAME_LENGTH);
        return { name: text, inside, error: null, caller: findMethod(calls) };
      },
      outcome(fact, message, context) {
        if (innermost.get(context) === indexes.get(message)) innermost.set(context, fact.inside);
        const removed = removedBy(message);
        if (removed !== undefined) fact.removed = removed;
        const converted = convertedBy(message);
        if (converted !== undefined) fact.converted = converted;
        if (message.kind === 'Guard' && message.result === false) fact.error = 'returned false';
      },
    }),
  ]);
}
