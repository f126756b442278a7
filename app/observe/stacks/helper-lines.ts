/** Lines of the application that send the statements of others. */
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { beginningOf } from '../../profiler/record/plain.ts';

const LEAST_STATEMENTS = 3;
const LEAST_CALLERS = 2;
/** A line that nothing else calls is none. */
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
