/** A finding: a fault of a request, stated before any data. */
import type { Block } from './rows.ts';

export type Severity = 'bad' | 'warn' | 'info';

export interface Finding {
  /** One or two words for the badge, such as `N+1`. */
  label: string;
  severity: Severity;
  /**
   * One sentence with a number; "may" if it is not certain. Names and counts, never a recorded value: values are masked by
   * their name, and in a sentence they have none.
   */
  sentence: string;
  /** The `file:line` or header it is about. */
  place?: string;
  /** The lines that led to `place`, the nearest first; set when the rules run. */
  path?: readonly string[] | undefined;
  /** What failed: the response, or something that the response does not show. Absent: nothing did. */
  broke?: 'response' | 'unseen';
  /** The panel that shows the evidence, and the id of the row. */
  panel: string;
  anchor?: string;
  /** If the fix of its rule does not fit what was found here. Code in backticks. */
  fix?: string;
  /** Milliseconds of the request that it explains; findings that broke nothing are sorted by severity and by it. */
  costMs?: number;
  /** Name of its rule, set when the rules run; absent if a panel made the finding. */
  rule?: string;
  /** Set when the profile is read; never stored. */
  history?: FindingHistory;
}

/** Which of the newest requests to the route have a finding with the same label. */
export interface FindingHistory {
  /** Requests of which that is known. */
  of: number;
  seen: number;
  /** When the oldest and the newest that have it began, in milliseconds since 1970; null if none has it. */
  firstAt: number | null;
  lastAt: number | null;
  /** Requests before the oldest and after the newest of them. `release`: theirs, if all have the same and it is another one. */
  before: { count: number; release: string | null };
  after: { count: number; release: string | null };
}

/** The fix as code, as far as the recorded facts go. */
export interface FixCode {
  language: 'sql' | 'ts' | 'http';
  text: string;
  /** What has to be true for it to be right, in a sentence. */
  assumes: string;
}

/** A finding as it is read: with the fix as code, if its rule knows it. */
export interface ReadFinding extends Finding {
  code?: FixCode;
}

/** A finding as the overview shows it: with the texts of its rule, and what its panel has of it. */
export interface ExplainedFinding extends ReadFinding {
  /** Empty if it has no rule. Code in backticks, as in a rule. */
  why: string;
  fix: string;
  /** The source at its place, the statement. */
  evidence: readonly { label: string; block: Block }[];
  /** What the lines at its place use, with the line that defines it. */
}
