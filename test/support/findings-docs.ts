/** The parts of docs/findings that are made from the rules: why and fix of each, and the table of all. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFindingRules } from '../../app/findings/index.ts';

export const FOLDER = 'docs/findings';
const RULE = /^## ([a-z0-9-]+)$/gm;
const TEXTS = /<!-- ([a-z0-9-]+): written by npm run docs -->\n[^]*?<!-- end -->/g;
const TABLE = /<!-- rules: written by npm run docs -->\n[^]*?<!-- end -->/;

/** Names of the pages, and the rules that each explains. */
export function rulePages(): Map<string, string[]> {
  const pages = readdirSync(FOLDER).filter((file) => file.endsWith('.md') && file !== 'README.md');
  return new Map(
    pages.map((file) => {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      return [file, Array.from(text.matchAll(RULE), ([, name = '']) => name)] as const;
    }),
  );
}

function tableOf(): string {
  const rules = createFindingRules();
  const rows = [...rulePages()].flatMap(([file, names]) =>
    names.map((name) => {
      const { labels = [], needs = [] } = rules.find((rule) => rule.name === name) ?? {};
      return [
        `[${name}](${file}#${name})`,
        labels.join(', '),
        needs.map((panel) => `\`${panel}\``).join(', '),
      ];
    }),
  );
  const all = [['rule', 'label', 'reads'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [...all.slice(0, 1), rule, ...rows].map(line).join('\n');
}

/** A page with why and fix of its rules as the code has them; the index with the table of all rules. */
export function withRuleTexts(page: string): string {
  const rules = new Map(createFindingRules().map((rule) => [rule.name, rule]));
  return page
    .replace(TEXTS, (block, name: string) => {
      const rule = rules.get(name);
      if (rule === undefined) return block;
      return `<!-- ${name}: written by npm run docs -->\n\n**Why:** ${rule.why}\n\n**Fix:** ${rule.fix}\n\n<!-- end -->`;
    })
    .replace(TABLE, () => `<!-- rules: written by npm run docs -->\n\n${tableOf()}\n\n<!-- end -->`);
}
