/**
 * `npm run stress -- <name> [options]`: long runs that break something, or look for something, and end with 1 if they find anything. Each
 * name is a file beside this one, with its options in its head.
 */
import { mochaGlobalTeardown as stopParts, offerParts } from '../test/support/run.ts';

const NAMES = ['agents', 'faults', 'fuzz', 'hostile', 'insight', 'ledger', 'secrets', 'soak'];

const [name = ''] = process.argv.splice(2, 1);
if (NAMES.includes(name)) {
  await offerParts();
  try {
    const { main } = (await import(`./${name}.ts`)) as { main: () => Promise<void> };
    await main();
  } finally {
    await stopParts();
  }
} else {
  console.error(`npm run stress -- ${NAMES.join('|')}`);
  process.exitCode = 2;
}
