/**
 * The contract of findings: what is wrong with a request, said before any data.
 *
 * A rule is one name in four rooms: `app/findings/<name>.ts`, `test/findings/<name>.test.ts`, `docs/findings/<name>.md`, and
 * a line in `app/findings/index.ts`. It reads what panels keep, asks nobody, and says nothing that was not recorded.
 */
import type { Profile, ProfileHead } from './profile.ts';

export type Severity = 'bad' | 'warn' | 'info';

export interface Finding {
  /** One or two words for the badge, such as `N+1`. */
  label: string;
  severity: Severity;
  /**
   * One sentence with a number; `may` where it is not certain. Names and counts, never a recorded value: values are masked
   * by the name they lie under, and in a sentence they lie under none.
   */
  sentence: string;
  /** `file:line`, layer or header it is about. */
  place?: string;
  /** The panel that proves it, and the row's id there. */
  panel: string;
  anchor?: string;
  /** Milliseconds of the request that it explains: of two as bad as each other, the dearer stands first. */
  costMs?: number;
  /** Name of its rule, set by whoever runs the rules; absent where a panel found it by itself. */
  rule?: string;
}

/** `Kept`: what the panels in `needs` keep, by their names. */
export interface FindingRule<Kept extends object = Record<string, unknown>> {
  /** `[a-z0-9-]+`; also the name of its page in docs/findings. */
  readonly name: string;
  /** Panels whose data it reads; where one has none or failed, the rule is not asked. */
  readonly needs: readonly string[];
  /** All that its findings may be labelled with. */
  readonly labels: readonly string[];
  /** One sentence for the reader: by which recorded facts it is known. Code stands in backticks, here and in `mends`. */
  readonly known: string;
  /** One sentence: what usually mends it. */
  readonly mends: string;
  /**
   * Called for each profile when all panels have collected, so the first thing it does is to leave. The worst ones first,
   * for few of them are kept. `kept` is not masked yet. `shared` holds what panels returned from `shared`.
   */
  find(kept: Kept, profile: ProfileHead, shared: Readonly<Record<string, object>>): Finding[];
  /** Called when a page is read: adds to its finding what came to the profile later (`amendments`, masked), such as a plan. */
  amend?(finding: Finding, profile: Profile, amendments: Readonly<Record<string, unknown>>): Finding;
}

/** What pages need of a rule; by its name. */
export type RuleTexts = Readonly<Record<string, Pick<FindingRule, 'known' | 'mends' | 'amend'>>>;

export function ruleTexts(rules: readonly FindingRule[]): RuleTexts {
  return Object.fromEntries(rules.map((rule) => [rule.name, rule]));
}
