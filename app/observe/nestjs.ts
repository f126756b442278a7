/** NestJS: what its exception filters answer -> facts `error`; guards, interceptors, pipes and controllers -> facts `span`. */
import { type Context, type ContextTracker, createSlot } from '../profiler/context.ts';
import { truncateText } from '../profiler/plain.ts';
import { failureText } from '../profiler/thrown-value.ts';
import { nestExceptionChannel } from './channels/nestjs.ts';
import { type NestStep, nestStepChannel } from './channels/nestjs-steps.ts';
import { recordError } from './errors-seen.ts';
import { type SpanFact } from './manual.ts';
import { closing, subscribeTo, subscribeToCalls } from './subscribe.ts';

const NAME_LENGTH = 200;
const SPAN_BYTES = 300;

export function observeNest({ tracker }: { tracker: ContextTracker }): { close(): void } {
  const running = new WeakMap<NestStep, { context: Context; fact: SpanFact; index: number }>();
  /** Index of the innermost interceptor or controller that runs. */
  const innermost = createSlot<number | null>('nestjs');

  function start(message: NestStep): void {
    const context = tracker.observed();
    if (context === undefined || context.isFull('span')) return;
    const inside = innermost.get(context) ?? null;
    // Pipes of a gateway or a resolver.
    if (message.kind === 'Pipe' && inside === null) return;
    const fact: SpanFact = {
      name: truncateText(`${message.kind} ${message.name}`, NAME_LENGTH),
      startMs: context.elapsedMs(),
      durationMs: null,
      inside,
      error: null,
      caller: null,
    };
    const index = context.all('span').length;
    context.add('span', fact, SPAN_BYTES);
    running.set(message, { context, fact, index });
    if (message.kind === 'Interceptor' || message.kind === 'Controller') innermost.set(context, index);
  }

  function end(message: NestStep): void {
    const step = running.get(message);
    if (step === undefined) return;
    running.delete(message);
    const { context, fact, index } = step;
    fact.durationMs = context.elapsedMs() - fact.startMs;
    if (innermost.get(context) === index) innermost.set(context, fact.inside);
    if (message.kind === 'Guard' && message.result === false) fact.error = 'returned false';
    if (message.error === undefined) return;
    fact.error = failureText(message.error, NAME_LENGTH);
  }

  return closing([
    subscribeTo<{ error: unknown }>(nestExceptionChannel, ({ error }) => {
      const context = tracker.observed();
      if (context !== undefined) recordError(context, error, { origin: 'passed on' });
    }),
    subscribeToCalls<NestStep>(nestStepChannel, { start, asyncEnd: end }),
  ]);
}
