/** The findings at the head of a profile: the worst ones, the rest folded, and an explanation of each rule. */
import type { Finding, ReadFinding } from '../../profiler/read/finding.ts';
import type { RuleTexts } from '../../profiler/read/finding-rule.ts';
import type { Profile } from '../../profiler/profile.ts';

const SHOWN = 5;

/** Adds what came to the profile later, and the fix as code; if that fails, the finding stays as it was. */
function readFinding(
  finding: Finding,
  texts: RuleTexts,
  { profile, amendments }: { profile: Profile; amendments: Readonly<Record<string, unknown>> },
): ReadFinding {
  const { rule } = finding;
  if (rule === undefined || !Object.hasOwn(texts, rule)) return finding;
  try {
    const amended = texts[rule]?.amend?.(finding, profile, amendments) ?? finding;
    const code = texts[rule]?.code?.(finding, profile, amendments) ?? null;
    return code === null ? amended : { ...amended, code };
  } catch {
    return finding;
  }
}

export function createFindingsModel(
  profile: Profile,
  texts: RuleTexts,
  amendments: Readonly<Record<string, unknown>>,
) {
  const { findingsLeft = 0 } = profile;
  const findings = profile.findings.map((finding) => readFinding(finding, texts, { profile, amendments }));
  const shown = findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  const rules = new Map<string, { labels: string[]; why: string; fix: string }>();
  for (const { rule, label, fix: own } of findings) {
    if (rule === undefined || !Object.hasOwn(texts, rule)) continue;
    const { why = '', fix = '' } = texts[rule] ?? {};
    const known = rules.get(`${rule} ${own}`) ?? { labels: [], why, fix: own ?? fix };
    if (!known.labels.includes(label)) known.labels.push(label);
    rules.set(`${rule} ${own}`, known);
  }
  return {
    shown,
    folded: findings.slice(shown.length),
    left: findingsLeft,
    rules: [...rules.values()],
  };
}

export type FindingsModel = ReturnType<typeof createFindingsModel>;
