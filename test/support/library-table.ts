/** The table of databases in docs/libraries.md, for the test that records what it tells. */
import { readFileSync } from 'node:fs';

const COLUMNS = 10;
const MAJOR = Number.parseInt(process.versions.node, 10);

/** `from Node 26` is `yes` or `no`, by the version that runs, and `partly; from Node 26` is `yes` or `partly`. */
function resolved(cell: string): string {
  const [, before = 'no', from] = /^(?:(partly); )?from Node (\d+)$/.exec(cell) ?? [];
  return from === undefined ? cell : MAJOR >= Number(from) ? 'yes' : before;
}

/** The cells of the row that begins with this name; none where there is no such row. */
export function documentedRow(library: string): string[] {
  const rows = readFileSync('docs/libraries.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const row = rows.find(([, name, ...rest]) => name === library && rest.length >= COLUMNS);
  return row?.slice(1, COLUMNS + 1).map(resolved) ?? [];
}
