/** NestJS: what its exception filters answer -> facts `error`; guards, interceptors, pipes and controllers -> facts `span`. */
import { type ContextTracker, createSlot } from '../profiler/context.ts';
import { truncateText } from '../profiler/plain.ts';
import { nestExceptionChannel } from './channels/nestjs.ts';
import { type NestStep, nestStepChannel } from './channels/nestjs-steps.ts';
import { recordError } from './errors-seen.ts';
import { observeCalls } from './observe-calls.ts';
import { closing, subscribeTo } from './subscribe.ts';

const NAME_LENGTH = 200;

export function observeNest({ tracker }: { tracker: ContextTracker }): { close(): void } {
  /** Index of the innermost interceptor or controller that runs. */
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
        const { kind, name } = message;
        const inside = innermost.get(context) ?? null;
        // Pipes of a gateway or a resolver.
        if (kind === 'Pipe' && inside === null) return null;
        const index = context.all('span').length;
        indexes.set(message, index);
        if (kind === 'Interceptor' || kind === 'Controller') innermost.set(context, index);
        return { name: truncateText(`${kind} ${name}`, NAME_LENGTH), inside, error: null, caller: null };
      },
      outcome(fact, message, context) {
        if (innermost.get(context) === indexes.get(message)) innermost.set(context, fact.inside);
        if (message.kind === 'Guard' && message.result === false) fact.error = 'returned false';
      },
    }),
  ]);
}
