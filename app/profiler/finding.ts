/** A finding: what is wrong with a request, said before any data. */

export type Severity = 'bad' | 'warn' | 'info';

export interface Finding {
  /** One or two words for the badge, such as `N+1`. */
  label: string;
  severity: Severity;
  /** One sentence with a number; `may` where it is not certain. */
  sentence: string;
  /** `file:line`, layer or header it is about. */
  place?: string;
  /** The panel that proves it, and the row's id there. */
  panel: string;
  anchor?: string;
}

const order: Record<Severity, number> = { bad: 0, warn: 1, info: 2 };

/** Worst first; equal ones keep their order. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => order[a.severity] - order[b.severity]);
}
