/** The findings of a profile as its head shows them: the worst ones, the rest folded, and by which rules they were made. */
import type { Finding, RuleTexts } from '../../profiler/finding.ts';
import type { Profile } from '../../profiler/profile.ts';

export interface FindingsModel {
  shown: readonly Finding[];
  folded: readonly Finding[];
  /** Found and not kept. */
  left: number;
  /** Each rule once, in the order of its worst finding. */
  rules: readonly { labels: string[]; known: string; mends: string }[];
}

/** One more would be as long as the fold that hides it. */
const SHOWN = 5;

/** With what came to the profile later; as it was where that fails. */
function amended(
  finding: Finding,
  texts: RuleTexts,
  { profile, amendments }: { profile: Profile; amendments: Readonly<Record<string, unknown>> },
): Finding {
  const { rule } = finding;
  if (rule === undefined || !Object.hasOwn(texts, rule)) return finding;
  try {
    return texts[rule]?.amend?.(finding, profile, amendments) ?? finding;
  } catch {
    return finding;
  }
}

export function createFindingsModel(
  profile: Profile,
  texts: RuleTexts,
  amendments: Readonly<Record<string, unknown>>,
): FindingsModel {
  const { findingsLeft = 0 } = profile;
  const findings = profile.findings.map((finding) => amended(finding, texts, { profile, amendments }));
  const shown = findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  const labels = new Map<string, string[]>();
  for (const { rule, label } of findings) {
    if (rule === undefined || !Object.hasOwn(texts, rule)) continue;
    const known = labels.get(rule) ?? [];
    labels.set(rule, known.includes(label) ? known : [...known, label]);
  }
  return {
    shown,
    folded: findings.slice(shown.length),
    left: findingsLeft,
    rules: [...labels].map(([rule, of]) => ({
      labels: of,
      known: texts[rule]?.known ?? '',
      mends: texts[rule]?.mends ?? '',
    })),
  };
}
