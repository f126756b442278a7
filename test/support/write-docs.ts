/** `npm run docs`: writes the parts of the documentation that are made from the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingsTable } from './settings-table.ts';

const page = 'docs/configuration.md';
writeFileSync(page, withSettingsTable(readFileSync(page, 'utf8')));
