/**
 * Lines of own code that send whatever they are given, such as `pool.query(sql, values)` in a helper: the line that calls the helper says
 * more. They are known by the different statements that they have sent.
 */
import { dropOldest } from '../profiler/drop-oldest.ts';

export interface HelperLines {
  learn(line: string, statement: string): void;
  isHelper(line: string): boolean;
}

const HELPER_FROM = 3;
/** A line may build one statement in several ways, which differ at the end. */
const HEAD_LENGTH = 40;
const MOST_LINES = 500;

export function createHelperLines(): HelperLines {
  const heads = new Map<string, Set<string>>();
  return {
    learn(line, statement) {
      const known = heads.get(line);
      if (known === undefined) {
        heads.set(line, new Set([statement.slice(0, HEAD_LENGTH)]));
        dropOldest(heads, MOST_LINES);
      } else if (known.size < HELPER_FROM) known.add(statement.slice(0, HEAD_LENGTH));
    },
    isHelper: (line) => heads.get(line)?.size === HELPER_FROM,
  };
}
