/** The contract of a rule that makes findings. How to add one: docs/findings/README.md. */
import type { Finding, FixCode } from './finding.ts';
import type { Profile, ProfileHead } from '../profile.ts';
import type { TimeLedger } from './time-ledger.ts';

/** Another request, such as an earlier one of the same route: its head and the stored data of its panels. */
export interface EarlierRequest<Kept = Readonly<Record<string, unknown>>> {
  head: ProfileHead;
  kept: Kept;
}

/** A request, and full ones beside it. */
export interface RouteAround<Kept = Readonly<Record<string, unknown>>> {
  own: EarlierRequest<Kept>;
  /** Of its route before it, the newest first. */
  earlier: readonly EarlierRequest<Kept>[];
  /** Of other routes before it, the newest first. */
  siblings: readonly EarlierRequest<Kept>[];
}

/** What a rule may compare a request with. `Other`: stored data of the panels of other requests. */
export interface RuleBeside<Other = Readonly<Record<string, unknown>>> {
  /** What panels returned from `shared`, masked. */
  shared: Readonly<Record<string, unknown>>;
  /** Milliseconds that the latest requests of this route of this process usually took, before this one; null if there were too few. */
  usualMs: number | null;
  /** Up to 20 requests of its route, or of a job those of its name, before this one that were recorded in full, the newest first; empty unless `compares` asked for them. */
  earlier: readonly EarlierRequest<Other>[];
  /** Up to 20 requests of other routes before this one, likewise; empty unless `relates` asked for them. */
  siblings: readonly EarlierRequest<Other>[];
  /** Up to 20 requests recorded in full that ran at the same time, the newest first; empty unless `overlaps` asked for them. */
  overlapping: readonly EarlierRequest<Other>[];
  /** Requests that the browser's reports name, by their tokens. */
  reported: ReadonlyMap<string, EarlierRequest<Other>>;
  /** Who owned each millisecond: take times from here. Made when a rule first asks for it, so ask late. */
  readonly time: TimeLedger;
}

/** What a rule finds. Absent, `label` is the first of the rule's labels and `panel` the first that it needs. */
export interface FindingDraft extends Omit<Finding, 'label' | 'panel' | 'place' | 'path' | 'rule'> {
  label?: string;
  panel?: string;
  place?: string | null;
}

/** `Kept`: stored data of the panels in `needs`, by their names; `Other`: likewise, of the requests that it is compared with. */
export interface FindingRule<
  Kept extends object = Record<string, unknown>,
  Other = Readonly<Record<string, unknown>>,
> {
  /** `[a-z0-9-]+`; also the name of its section in docs/findings. */
  readonly name: string;
  /** Panels whose data it reads; the rule is skipped if one of them has none or failed. */
  readonly needs: readonly string[];
  /** All labels its findings can have. */
  readonly labels: readonly string[];
  /** Why this is flagged: the recorded facts and the threshold, in a sentence or two. Code goes in backticks, here and in `fix`. */
  readonly why: string;
  /** How to fix it, in a sentence or two. */
  readonly fix: string;
  /** Names of rules whose findings follow from its own, and are not shown beside them. */
  readonly explains?: readonly string[];
  /**
   * Called when a profile is read, and for its row in the list. A pure function of what it is given: masked data, as stored. Only the
   * worst few findings are shown.
   */
  find(kept: Kept, profile: ProfileHead, beside: RuleBeside<Other>): FindingDraft[];
  /** Whether it needs `earlier` for this request; they are read from the storage. Absent: never. */
  compares?(kept: Kept, profile: ProfileHead): boolean;
  /** Whether it needs `siblings` for this request; they are read from the storage. Absent: never. */
  relates?(kept: Kept, profile: ProfileHead): boolean;
  /** Whether it needs `overlapping` for this request; they are read from the storage. Absent: never. */
  overlaps?(kept: Kept, profile: ProfileHead): boolean;
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
