/**
 * `npm run stress -- agents [all | <part of a name> …]`
 *
 * How many calls, and how many bytes, until a coding agent has the place of a fault? Plants faults of `insight` one by one, complains of
 * each as a user would, and lets an MCP client (the official SDK's) ask the tools by a fixed strategy. Ends with 1 if the median of ten
 * faults takes more than three calls or 12 KB.
 */
import { askForPlace, type Search } from './agents/agent.ts';
import { runFaults } from './insight/bench.ts';
import type { Fault } from './insight/fault.ts';
import { faults } from './insight/faults/index.ts';

/** Four that fail, four that are slow, one that is missing, one that is wrong without failing. */
const TEN: ReadonlySet<string> = new Set([
  'a property of nothing, in a helper',
  'a statement that does not match the table',
  'an object that contains itself',
  'a page of HTML where JSON was expected',
  'a query for each row, in a helper',
  'an index is missing',
  'a call for each item',
  'a password is hashed at once',
  'a router at another path',
  'a partner fails, and the response hides it',
]);
const MOST_CALLS = 3;
const MOST_BYTES = 12 * 1024;

function chosen(names: readonly string[]): Fault[] {
  // Without a place in the code there is nothing to find.
  const placed = faults.filter(({ at }) => at.length > 0);
  if (names[0] === 'all') return placed;
  return placed.filter(({ name }) =>
    names.length === 0 ? TEN.has(name) : names.some((part) => name.includes(part)),
  );
}

/** A search that did not find the place counts as more than any other. */
function median(searches: readonly Search[], of: (search: Search) => number): number {
  const values = searches.map((search) => (search.found ? of(search) : Infinity)).sort((a, b) => a - b);
  return values[Math.ceil(values.length / 2) - 1] ?? Infinity;
}

export async function main(): Promise<void> {
  const searches: Search[] = [];
  const { judged } = await runFaults({
    faults: chosen(process.argv.slice(2)),
    log: () => undefined,
    async examine({ fault, shop, answer, usual }) {
      const search = await askForPlace(shop, { answer, usual });
      searches.push(search);
      const { found, calls, bytes } = search;
      console.log(`${found ? 'found' : 'not  '}  ${bytes} bytes in ${calls.join(', ')}: ${fault.name}`);
    },
  });
  for (const { name, verdict } of judged) if (verdict === 'void') console.log(`void   ${name}`);
  const calls = median(searches, (search) => search.calls.length);
  const bytes = median(searches, (search) => search.bytes);
  const found = searches.filter((search) => search.found).length;
  console.log(
    `\n${searches.length} faults, ${found} places found; median ${calls} calls, ${bytes} bytes (at most ${MOST_CALLS} and ${MOST_BYTES})`,
  );
  if (calls > MOST_CALLS || bytes > MOST_BYTES) process.exitCode = 1;
}
