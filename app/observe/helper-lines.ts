/**
 * Lines of own code that send whatever they are given, such as `pool.query(sql, values)` in a helper: the line that calls the helper says
 * more. They are known by the different statements that they have sent, for different lines.
 */
import { dropOldest } from '../profiler/drop-oldest.ts';

const LEAST_STATEMENTS = 3;
const LEAST_CALLERS = 2;
/** It takes a whole stack. */
const MOST_ASKED = 50;
/** A line may build one statement in several ways, which differ at the end. */
const HEAD_LENGTH = 40;
const MOST_LINES = 500;

export function createHelperLines() {
  const known = new Map<string, { heads: Set<string>; callers: Set<string>; asked: number }>();
  return {
    learn(line: string, statement: string): void {
      let of = known.get(line);
      if (of === undefined) {
        known.set(line, (of = { heads: new Set(), callers: new Set(), asked: 0 }));
        dropOldest(known, MOST_LINES);
      }
      if (of.heads.size < LEAST_STATEMENTS) of.heads.add(statement.slice(0, HEAD_LENGTH));
    },
    isHelper(line: string, callerOf: () => string | null): boolean {
      const of = known.get(line);
      if (of === undefined || of.heads.size < LEAST_STATEMENTS) return false;
      const isKnown = of.callers.size >= LEAST_CALLERS || of.asked++ >= MOST_ASKED;
      const caller = isKnown ? null : callerOf();
      if (caller !== null && caller !== line) of.callers.add(caller);
      return of.callers.size >= LEAST_CALLERS;
    },
  };
}
