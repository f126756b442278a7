/**
 * The lines of own code that led to work which its line does again and again: the loop is often in another function than the call.
 * Taken for the second run of a line and a few more, because a whole stack costs more than its nearest frames.
 */
import { type Context, createSlot } from '../profiler/context.ts';
import type { CallerOptions, FindCaller } from './caller.ts';

const FROM_RUN = 2;
const TO_RUN = 10;
const MOST_LINES = 5;

const runs = createSlot<Map<string, number>>('runs by line');

/** The lines that led to `caller`, the nearest first; undefined if there are none, or if they are not asked for. */
export function callPath(
  context: Context | undefined,
  caller: string | null,
  { findCaller, ...from }: { findCaller: FindCaller | undefined } & Pick<CallerOptions, 'stack'>,
): readonly string[] | undefined {
  if (context === undefined || caller === null || findCaller?.path === undefined) return undefined;
  const counts = runs.get(context) ?? new Map<string, number>();
  const run = (counts.get(caller) ?? 0) + 1;
  counts.set(caller, run);
  runs.set(context, counts);
  if (run < FROM_RUN || run > TO_RUN) return undefined;
  const lines = findCaller.path(from);
  const above = lines.slice(lines.indexOf(caller) + 1, lines.indexOf(caller) + 1 + MOST_LINES);
  return above.length === 0 ? undefined : above;
}
