/** What one rule finds in data as it is stored, without a request. */
import { createFindingRules } from '../../app/findings/index.ts';
import type { FindingDraft, FindingRule } from '../../app/profiler/read/finding-rule.ts';
import { NOTHING_BESIDE } from './beside.ts';

const rules = createFindingRules();

export function ruleOf(name: string): FindingRule {
  const rule = rules.find((one) => one.name === name);
  if (rule === undefined) throw new Error(`There is no rule ${name}.`);
  return rule;
}

/** `beside`: the other requests that the rule compares with. */
export function draftsOf(
  name: string,
  kept: object,
  head: object = {},
  beside: object = {},
): readonly FindingDraft[] {
  return ruleOf(name).find({ ...kept }, head as never, { ...NOTHING_BESIDE, ...beside });
}

export function sentencesOf(...given: Parameters<typeof draftsOf>): string[] {
  return draftsOf(...given).map(({ sentence }) => sentence);
}
