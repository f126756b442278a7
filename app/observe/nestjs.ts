/** What NestJS's exception filters answer -> facts `error`. */
import type { ContextTracker } from '../profiler/context.ts';
import { nestExceptionChannel } from './channels/nestjs.ts';
import { recordError } from './errors-seen.ts';
import { subscribeTo } from './subscribe.ts';

export function observeNest({ tracker }: { tracker: ContextTracker }): { close(): void } {
  const close = subscribeTo<{ error: unknown }>(nestExceptionChannel, ({ error }) => {
    const context = tracker.current();
    if (context !== undefined && context.kind !== 'profiler')
      recordError(context, error, { origin: 'passed on' });
  });
  return { close };
}
