/**
 * Runs the rules over one profile: what broke the response first, then what broke unseen, then the rest by
 * severity and time; limited, and the others counted. Never throws.
 */
import { messageOf } from '../../errors.ts';
import { round } from './span.ts';
import type { Finding, Severity } from './finding.ts';
import { isInLibrary } from './rows.ts';
import type { FindingDraft, FindingRule, RuleBeside } from './finding-rule.ts';
import type { ProfileHead } from '../profile.ts';
import { groupBy } from '../group-by.ts';
import { isRecord } from '../json.ts';
import type { Steps } from '../turns.ts';

export interface SeenPanels {
  kept: Readonly<Record<string, unknown>>;
  shared: Readonly<Record<string, unknown>>;
}

export interface Findings {
  findings: Finding[];
  left: number;
}

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

interface Routed {
  route?: { source?: string | null } | null;
  layers?: readonly { outcome: string; source?: string | null }[];
}

/** Where the request was handled: its route, or the middleware that failed before one was reached, as of a proxy. */
function handledAt({ route, layers = [] }: Routed): string | null | undefined {
  return route?.source ?? layers.find(({ outcome }) => outcome === 'threw')?.source;
}

/** Panels about work: without a line of its own, that of the route it was done for is better than none, or than a library’s. */
const OF_WORK = new Set(['database', 'http_client', 'cache', 'mail', 'processes']);

interface Called {
  caller?: unknown;
  path?: readonly string[];
}

function callersOf(place: string, { caller, path = [] }: Called): readonly string[] | undefined {
  const lines = [caller, ...path];
  const at = lines.indexOf(place);
  return at === -1 || at === lines.length - 1 ? undefined : path.slice(at);
}

function listsIn(data: unknown): unknown[][] {
  return Object.values(data ?? {}).filter(Array.isArray);
}

/** The lines that led to a place: to the work that the finding is about, else to the first that came from there, also in another request. */
function pathTo(
  place: string,
  { anchor, panel }: Finding,
  all: readonly SeenPanels['kept'][],
): Finding['path'] {
  const at = Number(/^[a-z](\d+)$/.exec(anchor ?? '')?.[1] ?? 0) - 1;
  const meant = listsIn(all[0]?.[panel]).map((list) => list[at]);
  for (const list of [meant, ...all.flatMap((kept) => Object.values(kept).flatMap(listsIn))])
    for (const one of list) {
      const path = isRecord(one) ? callersOf(place, one) : undefined;
      if (path !== undefined) return path;
    }
  return undefined;
}

/** As stored: with the name of its rule, what the rule left to it, and its cost rounded to microseconds. */
function findingOf(
  { place, costMs, ...draft }: FindingDraft,
  rule: FindingRule,
  { routing }: SeenPanels['kept'],
): Finding {
  const [label = ''] = rule.labels;
  const [panel = ''] = rule.needs;
  const finding: Finding = { label, panel, ...draft, rule: rule.name };
  if (costMs !== undefined) finding.costMs = round(costMs);
  // A stream is read by the library itself.
  const isOwn = typeof place === 'string' && !isInLibrary(place);
  const known = isOwn || !OF_WORK.has(finding.panel) ? place : (handledAt(routing ?? {}) ?? place);
  return typeof known === 'string' && known !== '' ? { ...finding, place: known } : finding;
}

function withPath(finding: Finding, all: readonly SeenPanels['kept'][]): Finding {
  const path = finding.place === undefined ? undefined : pathTo(finding.place, finding, all);
  return path === undefined ? finding : { ...finding, path };
}

/** The same sentence about the same line is one finding, with its number of times. */
function folded(found: readonly Finding[]): Finding[] {
  const alike = groupBy(found, ({ label, severity, sentence, place }) =>
    JSON.stringify([label, severity, sentence, place]),
  );
  return [...alike.values()].flatMap(([first, ...others]): Finding[] => {
    if (first === undefined || others.length === 0) return first === undefined ? [] : [first];
    return [{ ...first, sentence: `${first.sentence} (${others.length + 1} times)` }];
  });
}

/** Without findings that another one explains: of the same line, or of the response, which follows from its statement. */
function withoutConsequences(all: readonly Finding[], rules: readonly FindingRule[]): Finding[] {
  const explains = new Map(rules.map(({ name, explains: names = [] }) => [name, names]));
  const isCauseOf = (cause: Finding, { rule = '', severity, place, anchor = '' }: Finding): boolean =>
    (explains.get(cause.rule ?? '') ?? []).includes(rule) &&
    ORDER[cause.severity] <= ORDER[severity] &&
    (cause.place === place || anchor === 'response');
  return all.filter((finding) => !all.some((cause) => isCauseOf(cause, finding)));
}

export interface FindingRunner {
  find(kept: SeenPanels['kept'], head: ProfileHead, beside: RuleBeside): Steps<Findings>;
  asks(what: 'compares' | 'relates' | 'overlaps', kept: SeenPanels['kept'], head: ProfileHead): boolean;
}

export function createFindingRunner(
  rules: readonly FindingRule[],
  warn: (sentence: string) => void,
): FindingRunner {
  /** By the first panel that they need: for most requests few panels have data. */
  const groups = groupBy(rules, ({ needs }) => needs[0] ?? '');
  const failed = new Set<string>();

  /** A rule that throws finds nothing; the panels still show the facts. */
  function guarded<T>(name: string, otherwise: T, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!failed.has(name)) warn(`The rule ${name} failed and finds nothing: ${messageOf(error)}`);
      failed.add(name);
      return otherwise;
    }
  }

  function rulesFor(kept: SeenPanels['kept']): FindingRule[] {
    return Object.keys(kept)
      .flatMap((name) => groups.get(name) ?? [])
      .filter(({ needs }) => needs.every((need) => kept[need] !== undefined));
  }

  return {
    *find(kept, head, beside) {
      const all: Finding[] = [];
      const others = [...beside.earlier, ...beside.siblings, ...beside.overlapping];
      const seen = [kept, ...others.map((other) => other.kept)];
      let left = 0;
      for (const rule of rulesFor(kept)) {
        const found = guarded(rule.name, NONE, () =>
          folded(rule.find(kept, head, beside).map((draft) => findingOf(draft, rule, kept))),
        );
        all.push(...found.toSorted(worstFirst).slice(0, MOST_OF_ONE));
        left += Math.max(0, found.length - MOST_OF_ONE);
        yield;
      }
      const shown = withoutConsequences(all, rules).toSorted(worstFirst);
      return {
        findings: shown.slice(0, MOST).map((finding) => withPath(finding, seen)),
        left: left + Math.max(0, shown.length - MOST),
      };
    },
    asks: (what, kept, head) =>
      rulesFor(kept).some((rule) => guarded(rule.name, false, () => rule[what]?.(kept, head) ?? false)),
  };
}
