/**
 * Events of socket.io clients -> a profile each, with what its listeners do; its arguments are a fact `dump`. A chatty client sends
 * hundreds a second, so only the first of each second are recorded.
 */
import type { Context } from '../profiler/record/context.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/record/plain.ts';
import { socketEvents, type SocketEvent } from './channels/socket-io.ts';
import { recordError } from './errors-seen.ts';
import { closing, subscribeToCalls, type WorkParts } from './subscribe.ts';

export const EVENTS_PER_SECOND = 10;
const NAME_LENGTH = 200;
const VALUES: PlainLimits = { depth: 5, width: 50, length: 1000, total: 300 };
const FACT_BYTES = 1000;

export function observeSocketEvents({ tracker, recorder, summaryReason }: WorkParts): { close(): void } {
  const running = new WeakMap<SocketEvent, Context>();
  let second = 0;
  let taken = 0;

  function isWithinLimit(): boolean {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) taken = 0;
    second = now;
    return taken++ < EVENTS_PER_SECOND;
  }

  function open(message: SocketEvent): Context | null | undefined {
    if (!isWithinLimit()) return undefined;
    const { namespace, event, values } = message;
    const where = namespace === '/' ? '' : `${namespace} `;
    const name = truncateText(where + event, NAME_LENGTH);
    // A connection belongs to the request that made it.
    const parent = tracker.current()?.token ?? null;
    const summary = summaryReason();
    const context = recorder.openWork('command', { label: 'EVENT', name, parent, summary });
    running.set(message, context);
    message.isFollowed = true;
    if (summary !== null) return null;
    const value = toPlain(values, VALUES);
    const dump = { value, label: 'arguments of the event', type: 'list', caller: null, atMs: 0 };
    if (values.length > 0) context.add('dump', dump, FACT_BYTES);
    return context;
  }

  return closing([
    tracker.follow(socketEvents.start, (message) => open(message as SocketEvent)),
    subscribeToCalls<SocketEvent>(socketEvents, {
      error(message) {
        const context = running.get(message);
        if (context !== undefined) recordError(context, message.error, { origin: 'work' });
      },
      asyncStart(message) {
        const context = running.get(message);
        if (context === undefined) return;
        running.delete(message);
        recorder.finish(context);
      },
    }),
  ]);
}
