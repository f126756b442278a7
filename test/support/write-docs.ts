/** `npm run docs`: writes the parts of the documentation that are made from the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOLDER, rulePages, withRuleTexts } from './findings-docs.ts';
import { withSettingsTable } from './settings-table.ts';

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}

rewrite('docs/configuration.md', withSettingsTable);
for (const page of [...rulePages().keys(), 'README.md']) rewrite(join(FOLDER, page), withRuleTexts);
