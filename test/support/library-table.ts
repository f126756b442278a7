/** The table of databases in docs/libraries.md, for the test that records what it tells. */
import { readFileSync } from 'node:fs';

const COLUMNS = 10;

/** The cells of the row that begins with this name; none where there is no such row. */
export function documentedRow(library: string): string[] {
  const rows = readFileSync('docs/libraries.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  return (
    rows.find(([, name, ...rest]) => name === library && rest.length >= COLUMNS)?.slice(1, COLUMNS + 1) ?? []
  );
}
