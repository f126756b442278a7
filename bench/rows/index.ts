/** The rows in the order of the report. */
import type { Row } from '../harness/row.ts';
import { hosts } from './hosts.ts';
import { memory } from './memory.ts';
import { pages } from './pages.ts';
import { controlOnly, full, plain, queries, summaries } from './requests.ts';
import { start } from './start.ts';
import { store } from './store.ts';
import { tail } from './tail.ts';

const rows: readonly Row[] = [plain, queries, summaries, full, tail, store, start, pages];

/** Asked for by name only. */
const furtherRows: readonly Row[] = [controlOnly, hosts, memory];

/** Those with these names, in the order of the report; all but the further ones where no name is given. Throws for a name that none has. */
export function chosenRows(names: readonly string[]): readonly Row[] {
  const known = [...rows, ...furtherRows];
  const unknown = names.find((name) => !known.some((row) => row.name === name));
  if (unknown !== undefined)
    throw new Error(`No row "${unknown}"; there are: ${known.map(({ name }) => name).join(', ')}.`);
  return names.length === 0 ? rows : known.filter(({ name }) => names.includes(name));
}
