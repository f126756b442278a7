/**
 * `npm run stress -- insight [<part of a name> …]`
 *
 * How many faults does a profile name? Prints a line for each, and what its profile said where that is not all. Ends with 1 where a
 * symptom was missing, or something was found without a fault.
 */
import { runFaults, type Verdict } from './insight/bench.ts';
import { faults } from './insight/faults/index.ts';

const VERDICTS: readonly Verdict[] = ['full', 'half', 'false', 'missed', 'void'];

export async function main(): Promise<void> {
  const names = process.argv.slice(2);
  const chosen = faults.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
  const { judged, noise } = await runFaults({ faults: chosen, log: (line) => console.log(line) });
  const counts = VERDICTS.map(
    (verdict) => `${judged.filter((one) => one.verdict === verdict).length} ${verdict}`,
  );
  console.log(`\n${judged.length} faults: ${counts.join(', ')}; ${noise.length} findings without a fault`);
  for (const line of noise) console.log(`  ${line}`);
  if (noise.length > 0 || judged.some(({ verdict }) => verdict === 'void')) process.exitCode = 1;
}
