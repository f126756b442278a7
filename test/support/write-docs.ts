/** `npm run docs`: writes the parts of the documentation that are made from the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingsTable } from './settings-table.ts';

writeFileSync('README.md', withSettingsTable(readFileSync('README.md', 'utf8')));
