/** Guards, interceptors, pipes and controllers of NestJS publish `express-hindsight:nestjs:step`: each call, until it returned, settled or emitted its first value. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { isThenable, publishEnd, publishError, type Traced } from './trace.ts';
import { wrapCalls } from './wrap-method.ts';

export interface NestStep extends Traced {
  kind: 'Guard' | 'Interceptor' | 'Pipe' | 'Controller';
  name: string;
  /** Class and method. */
  calls: string;
  /** Of a pipe: the parameter if it has a name, the value, and the class that it is to be. */
  parameter?: string;
  given?: unknown;
  as?: string;
}

export const nestStepChannel = tracingChannel('express-hindsight:nestjs:step');

interface Subscriber {
  next(value: unknown): void;
  error(error: unknown): void;
  add(teardown: () => void): void;
}

/** The part of an Observable of RxJS 7 that we use: it makes another one without a RxJS of our own. */
interface Liftable {
  lift(operator: { call(subscriber: Subscriber, source: Source): unknown }): unknown;
}

interface Source {
  subscribe(subscriber: Subscriber): unknown;
}

function isLiftable(value: unknown): value is Liftable {
  return typeof (value as Partial<Liftable> | null | undefined)?.lift === 'function';
}

/** Calls `ended` once: with the first value, before whoever subscribed gets it, with the error that came instead, or at the end. */
function untilFirst(observable: Liftable, ended: (error?: { thrown: unknown }) => void): unknown {
  return observable.lift({
    call(subscriber, source) {
      let isOver = false;
      const once = (error?: { thrown: unknown }): void => {
        if (!isOver) ended(error);
        isOver = true;
      };
      const passOn = subscriber.next.bind(subscriber);
      const fail = subscriber.error.bind(subscriber);
      const next = (value: unknown): void => {
        once();
        passOn(value);
      };
      const error = (thrown: unknown): void => {
        once({ thrown });
        fail(thrown);
      };
      Object.assign(subscriber, { next, error });
      subscriber.add(() => {
        once();
      });
      return source.subscribe(subscriber);
    },
  });
}

function traceStep(
  step: Pick<NestStep, 'kind' | 'name' | 'calls' | 'parameter' | 'given' | 'as'>,
  call: () => unknown,
): unknown {
  const message: NestStep = step;
  const end = (error?: { thrown: unknown }): void => {
    if (error !== undefined) publishError(nestStepChannel, message, error.thrown);
    publishEnd(nestStepChannel, message);
  };
  const returned = (value: unknown): unknown => {
    if (isLiftable(value)) return untilFirst(value, end);
    message.result = value;
    end();
    return value;
  };
  const failed = (thrown: unknown): never => {
    end({ thrown });
    throw thrown;
  };
  nestStepChannel.start.publish(message);
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    return failed(error);
  }
  // NestJS awaits whatever is returned. A promise of our own, because `then` of another may return nothing.
  return isThenable(result) ? Promise.resolve(result).then(returned, failed) : returned(result);
}

export function classOf(instance: unknown): string {
  const { constructor } = (instance ?? {}) as { constructor?: { name?: unknown } };
  return typeof constructor?.name === 'string' ? constructor.name : '';
}

type Method = (...args: unknown[]) => unknown;

/** Replaces guards, interceptors or pipes: the consumer of NestJS calls only this method. */
function traced(
  list: unknown,
  kind: NestStep['kind'],
  method: string,
  about: (args: unknown[]) => { parameter?: string; given?: unknown; as?: string } = () => ({}),
): unknown {
  if (!Array.isArray(list)) return list;
  return (list as Record<string, Method>[]).map((one) => ({
    [method]: (...args: unknown[]) => {
      const { parameter = '', ...more } = about(args);
      const calls = `${classOf(one)}.${method}`;
      const name = classOf(one) + (parameter === '' ? '' : ` (${parameter})`);
      return traceStep({ kind, name, calls, parameter, ...more }, () => one[method]?.(...args));
    },
  }));
}

function parameterOf([given, metadata]: unknown[]) {
  const { data, metatype } = (metadata ?? {}) as { data?: unknown; metatype?: unknown };
  const as = typeof metatype === 'function' ? metatype.name : '';
  return { parameter: typeof data === 'string' ? data : '', given, as };
}

function handlerName(instance: unknown, callback: unknown): string {
  return `${classOf(instance)}.${typeof callback === 'function' ? callback.name : ''}`;
}

/** Patches `method` of a consumer: `change` replaces steps among the arguments of its call by ones that publish. */
function consumerPatch(
  file: string,
  [className, method]: readonly [string, string],
  change: (args: unknown[]) => void,
): LibraryPatch {
  return {
    name: '@nestjs/core',
    file,
    isLazy: true,
    module: { file, names: [className] },
    patch: (exports) =>
      wrapCalls(
        (exports as Record<string, { prototype?: object } | undefined>)[className]?.prototype,
        method,
        (call, _consumer, args) => {
          if (nestStepChannel.start.hasSubscribers) change(args);
          return call();
        },
      ),
  };
}

export const nestStepPatches: readonly LibraryPatch[] = [
  consumerPatch('guards/guards-consumer.js', ['GuardsConsumer', 'tryActivate'], (args) => {
    if (args[4] === 'http') args[0] = traced(args[0], 'Guard', 'canActivate');
  }),
  consumerPatch('interceptors/interceptors-consumer.js', ['InterceptorsConsumer', 'intercept'], (args) => {
    const [interceptors, , instance, callback, next, type] = args;
    if (type !== 'http' || typeof next !== 'function') return;
    args[0] = traced(interceptors, 'Interceptor', 'intercept');
    const name = handlerName(instance, callback);
    const handle = (): unknown =>
      traceStep({ kind: 'Controller', name, calls: name }, () => (next as Method)());
    args[4] = handle;
  }),
  consumerPatch('pipes/pipes-consumer.js', ['PipesConsumer', 'applyPipes'], (args) => {
    args[2] = traced(args[2], 'Pipe', 'transform', parameterOf);
  }),
];
