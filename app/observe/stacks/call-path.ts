/**
 * The lines of own code that led to work which its line does again and again: the loop is often in another function than the call.
 * Taken for the second run of a line and a few more, because a whole stack costs more than its nearest frames.
 */
import { type Context, createSlot } from '../../profiler/record/context.ts';
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { beginningOf } from '../../profiler/record/plain.ts';
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

const LEAST_STATEMENTS = 3;
const LEAST_CALLERS = 2;
/** It takes a whole stack. */
const MOST_ASKED = 50;
/** A line may build one statement in several ways, which differ at the end. */
const HEAD_LENGTH = 40;
const MOST_KNOWN = 500;

/**
 * Lines of own code that send whatever they are given, such as `pool.query(sql, values)` in a helper: the line that calls the helper says
 * more. They are known by the different statements that they have sent, for different lines.
 */
export function createHelperLines() {
  const known = new Map<string, { heads: Set<string>; callers: Set<string>; asked: number }>();
  return {
    learn(line: string, statement: string): void {
      let of = known.get(line);
      if (of === undefined) {
        known.set(line, (of = { heads: new Set(), callers: new Set(), asked: 0 }));
        dropOldest(known, MOST_KNOWN);
      }
      if (of.heads.size < LEAST_STATEMENTS) of.heads.add(beginningOf(statement, HEAD_LENGTH));
    },
    isHelper(line: string, callerOf: () => string | null): boolean {
      const of = known.get(line);
      if (of === undefined) return false;
      const isKnown = of.callers.size >= LEAST_CALLERS || of.asked++ >= MOST_ASKED;
      const caller = isKnown ? null : callerOf();
      if (caller !== null && caller !== line) of.callers.add(caller);
      return of.callers.size >= LEAST_CALLERS && of.heads.size >= LEAST_STATEMENTS;
    },
  };
}
