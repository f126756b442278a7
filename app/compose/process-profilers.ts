/**
 * The profilers of one process: one that the code creates replaces the one of `express-hindsight/register`, and
 * `express-hindsight/testing` reads all of them. The state is global, not of this module, because a process may have two
 * copies of this package.
 */
import { dropOldest } from '../profiler/drop-oldest.ts';
import { type FindingRule, ruleTexts, type RuleTexts } from '../profiler/read/finding-rule.ts';
import type { Panel } from '../profiler/panel.ts';
import type { Profile } from '../profiler/profile.ts';
import type { Recorder } from '../profiler/record/recorder.ts';
import { documentIn, type StoredText } from '../profiler/record/summary.ts';

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

/** A test looks at the request that it has just sent, or at a few before it. */
const MOST_ENDED = 100;

/** Lets `express-hindsight/testing` read the profiles of one profiler without waiting, wherever they are stored. */
export function createTestable(options: {
  recorder: Recorder;
  panels: readonly Panel[];
  rules: readonly FindingRule[];
}) {
  const { recorder, panels, rules } = options;
  const { isTested, testables } = processProfilers();
  /** Records by token, the newest last; null: nobody tests. Not global: Jest reports globals that are used after a file has ended. */
  let ended: Map<string, StoredText> | null = isTested ? new Map() : null;

  function readProfile(token: string): Profile | null {
    const context = recorder.running(token);
    if (context !== undefined) return recorder.snapshot(context);
    const stored = ended?.get(token);
    return stored === undefined ? null : recorder.conclude(documentIn(stored), recorder);
  }

  const testable: Testable = {
    begin() {
      ended ??= new Map();
    },
    read(token) {
      const profile = readProfile(token);
      return profile === null ? null : { profile, panels, rules: ruleTexts(rules) };
    },
  };
  testables.add(testable);

  return {
    add(stored: StoredText): void {
      if (ended === null) return;
      const { token } = stored.row;
      ended.delete(token);
      ended.set(token, stored);
      dropOldest(ended, MOST_ENDED);
    },
    close(): void {
      testables.delete(testable);
    },
  };
}
