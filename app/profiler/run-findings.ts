/**
 * Runs the rules of panels and findings over one profile: what broke the response first, then what broke unseen, then the rest by
 * severity and time; limited, and the others counted. Never throws.
 */
import type { Finding, Severity } from './finding.ts';
import type { FindingRule, RouteUsual } from './finding-rule.ts';
import type { Panel } from './panel.ts';
import type { ProfileHead } from './profile.ts';
import { createRouteTimes } from './route-times.ts';

/** Stored and shared data by panel, for rules; absent if there is none. */
export interface SeenPanels {
  kept: Record<string, unknown>;
  shared: Record<string, object>;
}

export interface Findings {
  findings: Finding[];
  /** Number of findings left out. */
  left: number;
}

/** Limits per rule or panel, and per profile. */
const MOST_OF_ONE = 3;
const MOST = 12;

const NONE: readonly Finding[] = [];
const ORDER: Record<Severity, number> = { bad: 0, warn: 1, info: 2 };

const BROKE: Record<NonNullable<Finding['broke']>, number> = { response: 0, unseen: 1 };

function breakage({ broke }: Finding): number {
  return broke === undefined ? 2 : BROKE[broke];
}

function worstFirst(a: Finding, b: Finding): number {
  return (
    breakage(a) - breakage(b) || ORDER[a.severity] - ORDER[b.severity] || (b.costMs ?? 0) - (a.costMs ?? 0)
  );
}

/** As stored: with the name of its rule, and its cost rounded to microseconds. */
function named(finding: Finding, rule: string): Finding {
  const { costMs } = finding;
  return costMs === undefined
    ? { ...finding, rule }
    : { ...finding, rule, costMs: Math.round(costMs * 1000) / 1000 };
}

/** Panels about work: without a line of its own, that of the route it was done for is better than none. */
const OF_WORK = new Set(['database', 'http_client', 'cache', 'mail', 'processes']);

function withPlace(finding: Finding, { kept }: SeenPanels): Finding {
  if (finding.place !== undefined || !OF_WORK.has(finding.panel)) return finding;
  const place = (kept.routing as { route?: { source?: string | null } | null } | undefined)?.route?.source;
  return typeof place === 'string' ? { ...finding, place } : finding;
}

interface Finder {
  needs: readonly string[];
  /** Absent for a panel's own findings. */
  rule?: string;
  find: (seen: SeenPanels, head: ProfileHead, usual: RouteUsual) => readonly Finding[];
}

/** By the first panel that they need: for most requests few panels have data. */
function groupFinders(panels: readonly Panel[], rules: readonly FindingRule[]): Map<string, Finder[]> {
  const groups = new Map<string, Finder[]>();
  function add(finder: Finder): void {
    const [first = ''] = finder.needs;
    const group = groups.get(first);
    if (group === undefined) groups.set(first, [finder]);
    else group.push(finder);
  }
  for (const panel of panels) {
    if (panel.findings === undefined) continue;
    const { name } = panel;
    add({ needs: [name], find: ({ kept }, head) => panel.findings?.(kept[name], head) ?? [] });
  }
  for (const rule of rules) {
    const find: Finder['find'] = ({ kept, shared }, head, usual) => rule.find(kept, head, shared, usual);
    add({ needs: rule.needs, rule: rule.name, find });
  }
  return groups;
}

export function createFindingRunner(panels: readonly Panel[], rules: readonly FindingRule[]) {
  const groups = groupFinders(panels, rules);
  const times = createRouteTimes();

  /** Its duration counts for later requests, if it succeeded. */
  function noteTime(route: string, { state, status, durationMs, token }: ProfileHead): void {
    if (state === 'final' && durationMs !== null && (status ?? 500) < 400)
      times.add(route, token, durationMs);
  }

  function findBy(
    { find, rule }: Finder,
    seen: SeenPanels,
    head: ProfileHead,
    usual: RouteUsual,
  ): readonly Finding[] {
    try {
      const found = find(seen, head, usual);
      if (found.length === 0 || rule === undefined) return found;
      return found.map((finding) => named(withPlace(finding, seen), rule));
    } catch {
      // A rule that throws finds nothing; the panels still show the facts.
      return NONE;
    }
  }

  return function run(seen: SeenPanels, head: ProfileHead): Findings {
    const all: Finding[] = [];
    let left = 0;
    const route = `${head.method} ${head.route ?? ''}`;
    const usual: RouteUsual = { usualMs: () => (head.route === null ? null : times.usualMs(route)) };
    for (const name of Object.keys(seen.kept)) {
      const group = groups.get(name);
      if (group === undefined) continue;
      for (const finder of group) {
        if (finder.needs.length > 1 && !finder.needs.every((need) => seen.kept[need] !== undefined)) continue;
        const found = findBy(finder, seen, head, usual);
        if (found.length === 0) continue;
        all.push(...found.slice(0, MOST_OF_ONE));
        left += Math.max(0, found.length - MOST_OF_ONE);
      }
    }
    if (head.route !== null) noteTime(route, head);
    if (all.length > 1) all.sort(worstFirst);
    return { findings: all.slice(0, MOST), left: left + Math.max(0, all.length - MOST) };
  };
}
