/**
 * Appends the work recorded before the headers are sent to the response's Server-Timing (W3C, https://www.w3.org/TR/server-timing/):
 * only kinds, counts and durations, because everyone who gets the response can read them.
 */
import { type Context, createSlot } from '../profiler/record/context.ts';
import type { ServerResponse } from 'node:http';
import { changeHeader } from './head-arguments.ts';

const MOST_ENTRIES = 10;
const MOST_BYTES = 2048;

const KINDS = [
  { fact: 'query', name: 'db', one: 'query', many: 'queries' },
  { fact: 'call', name: 'http', one: 'outgoing call', many: 'outgoing calls' },
  { fact: 'view', name: 'view', one: 'view', many: 'views' },
  { fact: 'cache', name: 'cache', one: 'cache command', many: 'cache commands' },
] as const;

interface Stretch {
  startMs: number;
  durationMs: number | null;
}

function timeOf(stretches: readonly Stretch[], nowMs: number): number {
  let sum = 0;
  let reached = 0;
  for (const { startMs, durationMs } of stretches.toSorted((a, b) => a.startMs - b.startMs)) {
    const end = durationMs === null ? nowMs : Math.min(nowMs, startMs + durationMs);
    sum += Math.max(0, end - Math.max(reached, startMs));
    reached = Math.max(reached, end);
  }
  return sum;
}

function entry(name: string, desc: string, ms: number): string {
  return `${name};desc="${desc}";dur=${ms.toFixed(1)}`;
}

function entriesOf(context: Context): string[] {
  const nowMs = context.elapsedMs();
  const entries = [entry('total', 'until headers', nowMs)];
  if (context.summary !== null) return entries;
  for (const { fact, name, one, many } of KINDS) {
    const facts: readonly Stretch[] = context.all(fact);
    const beyond = context.beyond(fact);
    const count = facts.length + (beyond?.count ?? 0);
    if (count === 0) continue;
    const ms = timeOf([...facts, ...(beyond?.stretches ?? [])], nowMs);
    entries.push(entry(name, `${count} ${count === 1 ? one : many}`, ms));
  }
  return entries;
}

/** Commas in quotes separate nothing. */
function countEntries(list: string): number {
  return list
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .split(',')
    .filter((text) => text.trim() !== '').length;
}

function fitting(given: string, entries: readonly string[]): string {
  if (given.length > MOST_BYTES) return '';
  let free = MOST_ENTRIES - countEntries(given);
  let bytes = given.length;
  const taken = entries.filter((text) => {
    bytes += text.length + 2;
    return free-- > 0 && bytes <= MOST_BYTES;
  });
  return taken.join(', ');
}

/** Called when headers are sent, with the arguments of `writeHead`; returns those to use. */
export type AddServerTiming = (res: ServerResponse, args: unknown[], context: Context) => unknown[];

export function createServerTiming(): AddServerTiming {
  /** `writeHead` may be called again inside itself, or after it threw. */
  const added = createSlot<string>('server timing');

  function extended(given: string, context: Context): string | null {
    const before = added.get(context);
    if (before !== undefined && given.endsWith(before)) return null;
    const ours = fitting(given, entriesOf(context));
    if (ours === '') return null;
    added.set(context, ours);
    return given === '' ? ours : `${given}, ${ours}`;
  }

  return (res, args, context) =>
    context.kind !== 'request' || res.headersSent
      ? args
      : changeHeader(res, args, 'server-timing', (given) => extended(given, context));
}
