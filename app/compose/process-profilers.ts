/**
 * The profilers of one process: one that the code creates replaces the one of `express-hindsight/register`, and
 * `express-hindsight/testing` reads all of them. The state is global, not of this module, because they may come from different copies of
 * this package (ES module, CommonJS).
 */
import type { RuleTexts } from '../profiler/finding-rule.ts';
import type { Panel } from '../profiler/panel.ts';
import type { Profile } from '../profiler/profile.ts';

export interface TestedProfile {
  profile: Profile;
  panels: readonly Panel[];
  rules: RuleTexts;
}

/** How `express-hindsight/testing` reads a profiler. */
export interface Testable {
  begin(): void;
  read(token: string): TestedProfile | null;
}

interface ProcessProfilers {
  made: number;
  stepAside: (() => void) | null;
  isTested: boolean;
  testables: Set<Testable>;
}

const KEY = Symbol.for('express-hindsight.profilers');

export function processProfilers(): ProcessProfilers {
  const holder = globalThis as { [KEY]?: ProcessProfilers };
  return (holder[KEY] ??= { made: 0, stepAside: null, isTested: false, testables: new Set() });
}

export function noteProfiler(): () => void {
  const profilers = processProfilers();
  let noted = true;
  profilers.made++;
  profilers.stepAside?.();
  return () => {
    if (noted) profilers.made--;
    noted = false;
  };
}
