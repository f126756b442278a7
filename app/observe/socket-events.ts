/**
 * Events of socket.io clients -> a profile each, with what its listeners do; its arguments are a fact `dump`. A chatty client sends
 * hundreds a second, so only the first of each second are recorded. What the server sends to rooms is a fact `span` of the request.
 */
import type { Context } from '../profiler/record/context.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/record/plain.ts';
import { type SocketEmit, socketEmits, socketEvents, type SocketEvent } from './channels/socket-io.ts';
import { recordError } from './errors-seen.ts';
import { NOWHERE } from './observe-calls.ts';
import { closing, subscribeTo, subscribeToCalls, type WorkParts } from './subscribe.ts';

export const EVENTS_PER_SECOND = 10;
const NAME_LENGTH = 200;
const VALUES: PlainLimits = { depth: 5, width: 50, length: 1000, total: 300 };
const FACT_BYTES = 1000;

interface Adapter {
  rooms: ReadonlyMap<unknown, ReadonlySet<unknown>>;
  sids: ReadonlyMap<unknown, unknown>;
}

/** Those of one process; others ask other servers, too. */
const LOCAL_ADAPTERS = new Set(['Adapter', 'SessionAwareAdapter']);
const MOST_ROOMS = 5;

/** `3 (a number)`: a room of another type is another room. */
function roomText(room: unknown): string {
  return typeof room === 'string'
    ? JSON.stringify(truncateText(room, 60))
    : `${String(room)} (a ${typeof room})`;
}

/** The clients that it reaches now, and the rooms that there are; null: other servers may have more. */
function receiversOf({
  rooms,
  exceptRooms,
  adapter,
}: SocketEmit): { count: number; joined: string[] } | null {
  if (!LOCAL_ADAPTERS.has(adapter.constructor.name)) return null;
  const { rooms: members, sids } = adapter as Adapter;
  const left = new Set([...exceptRooms].flatMap((room) => [...(members.get(room) ?? [])]));
  const meant =
    rooms.size === 0
      ? sids.keys()
      : new Set([...rooms].flatMap((room) => [...(members.get(room) ?? [])])).values();
  let count = 0;
  for (const client of meant) if (!left.has(client)) count++;
  const joined = count > 0 ? [] : [...members.keys()].filter((room) => !sids.has(room)).slice(0, MOST_ROOMS);
  return { count, joined: joined.map(roomText) };
}

export function observeSocketEvents({ tracker, recorder, summaryReason, findCaller }: WorkParts): {
  close(): void;
} {
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

  function emitted(message: SocketEmit): void {
    const context = tracker.observed();
    if (context === undefined || context.isFull('span')) return;
    const rooms = [...message.rooms].slice(0, MOST_ROOMS).map(roomText);
    const to = rooms.length === 0 ? 'all' : `room ${rooms.join(', ')}`;
    const receivers = receiversOf(message);
    const fact = {
      name: truncateText(`emit ${String(message.event)} to ${to}`, NAME_LENGTH),
      startMs: context.elapsedMs(),
      durationMs: 0,
      inside: null,
      error: null,
      ...(findCaller?.called({ skip: 'socket.io' }) ?? NOWHERE),
      ...(receivers === null ? {} : { emitted: receivers }),
    };
    context.add('span', fact, FACT_BYTES);
  }

  return closing([
    subscribeTo<SocketEmit>(socketEmits, emitted),
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
