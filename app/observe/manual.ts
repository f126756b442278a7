/** The recording calls of an application: a span of work, a fact of its own kind, a profile of a command. They never fail the work. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from '../profiler/record/context.ts';
import type { FactName, Facts } from '../profiler/record/facts.ts';
import { toPlain, truncateText } from '../profiler/record/plain.ts';
import { recordError } from './errors-seen.ts';
import { createCallRecorder } from './observe-calls.ts';
import type { Called } from './stacks/caller.ts';
import type { WorkParts } from './subscribe.ts';

export interface SpanFact extends Called {
  name: string;
  startMs: number;
  durationMs: number | null;
  /** Index of the span around it; null if there is none. */
  inside: number | null;
  error: string | null;
  /** Of a pipe of NestJS: names of what it was given that its result does not have, and the class that it was to be. */
  removed?: { names: string[]; as: string };
  /** Of a pipe of NestJS: fields that it got as texts and made booleans or numbers of, and the class of its result. */
  converted?: { fields: { name: string; value: number | boolean }[]; as: string };
  /** Of an event for clients of socket.io: how many it reached, and, of none, rooms that there were. */
  emitted?: { count: number; joined: string[] };
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    span: SpanFact;
  }
}

export interface Manual {
  /** Runs `work` and records how long it took, until its promise settles. Outside a request it only runs it. */
  span<T>(name: string, work: () => T): T;
  /** Adds a fact to the request that runs, for a panel of your own; false outside a request, or above the recording limit. */
  fact<N extends FactName>(kind: N, data: Facts[N]): boolean;
  /** `work`, recorded with the request that runs now, whatever runs it later: for queues of your own. */
  bind<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R;
  /** Runs `work` as a profile of its own: a script, a cron job. */
  record<T>(kind: 'command', name: string, work: () => T | Promise<T>): Promise<T>;
}

const NAME_LENGTH = 200;

/** JavaScript may give anything as a name. */
function nameText(given: unknown): string {
  const name = typeof given === 'string' ? given : toPlain(given);
  return truncateText(typeof name === 'string' ? name : JSON.stringify(name), NAME_LENGTH);
}

function sizeOf(data: unknown): number {
  try {
    return JSON.stringify(data).length;
  } catch {
    return 0;
  }
}

export function createManual({ tracker, recorder, summaryReason, findCaller }: WorkParts): Manual {
  const open = new AsyncLocalStorage<{ context: Context; index: number }>();

  const calls = createCallRecorder({ tracker, findCaller, fact: 'span' });

  const span: Manual['span'] = (name, work) => {
    const key = {};
    const around = open.getStore();
    calls.begin(key, (find, context) => ({
      name: nameText(name),
      inside: around?.context === context ? around.index : null,
      error: null,
      ...find(),
    }));
    const context = calls.running(key)?.context;
    if (context === undefined) return work();
    const index = context.all('span').length - 1;
    const end = (): void => {
      calls.end(key);
    };
    const fail = (error: unknown): never => {
      calls.end(key, error);
      throw error;
    };
    return open.run({ context, index }, () => {
      let result: ReturnType<typeof work>;
      try {
        result = work();
      } catch (error) {
        return fail(error);
      }
      if (result instanceof Promise) {
        const settled: Promise<unknown> = result.then((value: unknown) => {
          end();
          return value;
        }, fail);
        return settled as typeof result;
      }
      end();
      return result;
    });
  };

  return {
    span,
    bind(work) {
      const context = tracker.current();
      if (context === undefined) return work;
      return function (this: unknown, ...args) {
        return tracker.run(context, () => Reflect.apply(work, this, args));
      };
    },
    fact: (kind, data) => tracker.current()?.add(kind, data, sizeOf(data)) ?? false,
    async record(_kind, name, work) {
      const summary = summaryReason();
      const context = recorder.openWork('command', {
        label: 'COMMAND',
        name: nameText(name),
        summary,
      });
      try {
        return await tracker.run(summary === null ? context : undefined, async () => work());
      } catch (error) {
        recordError(context, error, { origin: 'work' });
        throw error;
      } finally {
        recorder.finish(context);
      }
    },
  };
}
