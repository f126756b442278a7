/** What panels and rules find in one profile: worst first, bounded, what is left out counted. Never throws. */
import type { Finding, FindingRule, Severity } from './finding.ts';
import type { Panel } from './panel.ts';
import type { ProfileHead } from './profile.ts';

/** What rules read: by panel, what it keeps and what it shares; not there where there is nothing. */
export interface SeenPanels {
  kept: Record<string, unknown>;
  shared: Record<string, object>;
}

export interface Findings {
  findings: Finding[];
  /** Found and left out. */
  left: number;
}

/** Kept of one rule or panel, and of a profile. */
const MOST_OF_ONE = 3;
const MOST = 12;

const ORDER: Record<Severity, number> = { bad: 0, warn: 1, info: 2 };

function worstFirst(a: Finding, b: Finding): number {
  return ORDER[a.severity] - ORDER[b.severity] || (b.costMs ?? 0) - (a.costMs ?? 0);
}

function hasAll(kept: Readonly<Record<string, unknown>>, needs: readonly string[]): boolean {
  for (const name of needs) if (kept[name] === undefined) return false;
  return true;
}

export function createFindingRunner(panels: readonly Panel[], rules: readonly FindingRule[]) {
  const finders = panels.filter(({ findings }) => findings !== undefined);

  return function run({ kept, shared }: SeenPanels, head: ProfileHead): Findings {
    let all: Finding[] | null = null;
    let left = 0;

    function take(found: readonly Finding[], rule?: string): void {
      all ??= [];
      for (const finding of found.slice(0, MOST_OF_ONE))
        all.push(rule === undefined ? finding : { ...finding, rule });
      left += Math.max(0, found.length - MOST_OF_ONE);
    }

    for (const panel of finders) {
      if (kept[panel.name] === undefined) continue;
      try {
        const found = panel.findings?.(kept[panel.name], head) ?? [];
        if (found.length > 0) take(found);
      } catch {
        // A finding that fails is none; its panel still shows the facts.
      }
    }
    for (const rule of rules) {
      if (!hasAll(kept, rule.needs)) continue;
      try {
        const found = rule.find(kept, head, shared);
        if (found.length > 0) take(found, rule.name);
      } catch {
        // As above.
      }
    }
    if (all === null) return { findings: [], left };
    const sorted = (all as Finding[]).sort(worstFirst);
    return { findings: sorted.slice(0, MOST), left: left + Math.max(0, sorted.length - MOST) };
  };
}
