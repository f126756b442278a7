/** The contract of a rule that makes findings. How to add one: docs/findings/README.md. */
import type { Finding, FixCode } from './finding.ts';
import type { Profile, ProfileHead } from './profile.ts';

/** How requests to the same route of this process were, before this one. */
export interface RouteUsual {
  /** Median in milliseconds; null if there were too few. */
  usualMs(): number | null;
}

/** What a rule finds. Absent, `label` is the first of the rule's labels and `panel` the first that it needs. */
export interface FindingDraft extends Omit<Finding, 'label' | 'panel' | 'place' | 'rule'> {
  label?: string;
  panel?: string;
  place?: string | null;
}

/** `Kept`: stored data of the panels in `needs`, by their names. */
export interface FindingRule<Kept extends object = Record<string, unknown>> {
  /** `[a-z0-9-]+`; also the name of its page in docs/findings. */
  readonly name: string;
  /** Panels whose data it reads; the rule is skipped if one of them has none or failed. */
  readonly needs: readonly string[];
  /** All labels its findings can have. */
  readonly labels: readonly string[];
  /** Why this is flagged: the recorded facts and the threshold, in a sentence or two. Code goes in backticks, here and in `fix`. */
  readonly why: string;
  /** How to fix it, in a sentence or two. */
  readonly fix: string;
  /**
   * Called for every profile once all panels have collected, so it should return early. Only the worst few are stored. `kept` is not masked yet. `shared` holds what panels returned from `shared`. `usual` tells how the route usually is.
   */
  find(
    kept: Kept,
    profile: ProfileHead,
    shared: Readonly<Record<string, object>>,
    usual?: RouteUsual,
  ): FindingDraft[];
  /** Called when a page is read: adds what came later (`amendments`, masked), such as a query plan, to its finding. */
  amend?(finding: Finding, profile: Profile, amendments: Readonly<Record<string, unknown>>): Finding;
  /** The fix as code; called when a page is read. null if the profile does not have enough for it. */
  code?(finding: Finding, profile: Profile, amendments: Readonly<Record<string, unknown>>): FixCode | null;
}

/** What pages need of each rule, by its name. */
export type RuleTexts = Readonly<
  Record<string, Pick<FindingRule, 'why' | 'fix' | 'amend' | 'code'> & Partial<Pick<FindingRule, 'needs'>>>
>;

export function ruleTexts(rules: readonly FindingRule[]): RuleTexts {
  return Object.fromEntries(rules.map((rule) => [rule.name, rule] as const));
}
