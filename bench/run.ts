/**
 * `npm run bench [-- <row> …] [-- --full --pairs=7 --slice=1000 --cpu-prof]`
 *
 * Runs the rows, prints one table, writes the figures with the machine's description into bench/results. Ends with 1
 * where a control shows that the machine was not quiet: the figures are void then.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createBench, type Bench } from './harness/bench.ts';
import { tableOf, type Figure } from './harness/figure.ts';
import { resultsFolder } from './harness/folders.ts';
import { canPin, pinThisProcess } from './harness/pin.ts';
import { VoidRun, type Row } from './harness/row.ts';
import { offerParts, mochaGlobalTeardown as stopParts } from '../test/support/run.ts';
import { chosenRows } from './rows/index.ts';

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      stored: { type: 'string', default: '100000' },
      pairs: { type: 'string', default: '7' },
      slice: { type: 'string', default: '1000' },
      'warm-up': { type: 'string', default: '10000' },
      anyway: { type: 'boolean', default: false },
      'cpu-prof': { type: 'boolean', default: false },
    },
  });
  const options = {
    full: values.full,
    stored: Number(values.stored),
    pairs: Number(values.pairs),
    sliceMs: Number(values.slice),
    warmUp: Number(values['warm-up']),
    anyway: values.anyway,
    cpuProfile: values['cpu-prof'],
  };
  return { chosen: chosenRows(positionals), options };
}

interface Outcome {
  row: string;
  figures: Figure[];
  /** Why there is no valid figure. */
  problem: string | null;
}

async function runRow(row: Row, bench: Bench): Promise<Outcome> {
  const startedAt = performance.now();
  log(`${row.name}: ${row.what}`);
  try {
    const figures = await row.run(bench);
    log(`  ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    return { row: row.name, figures, problem: null };
  } catch (error) {
    const problem = error instanceof VoidRun ? `void: ${error.message}` : String(error);
    log(`  ${problem}`);
    return { row: row.name, figures: [], problem };
  }
}

function describeMachine() {
  return {
    date: new Date().toISOString(),
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
    load: loadavg().map((value) => Number(value.toFixed(2))),
    pinned: canPin,
  };
}

async function main(): Promise<void> {
  const { chosen, options } = readArguments();
  const machine = describeMachine();
  pinThisProcess();
  mkdirSync(resultsFolder, { recursive: true });
  await offerParts();
  const bench = createBench(options, log);
  const outcomes: Outcome[] = [];
  try {
    for (const row of chosen) outcomes.push(await runRow(row, bench));
  } finally {
    await bench.close();
    await stopParts();
  }
  const file = join(resultsFolder, `${machine.date.replaceAll(':', '-')}.json`);
  writeFileSync(file, JSON.stringify({ machine, loadAfter: loadavg(), options, outcomes }, null, 2));
  console.log(tableOf(outcomes.flatMap(({ figures }) => figures)));
  for (const { row, problem } of outcomes) if (problem !== null) console.log(`${row}: ${problem}`);
  console.log(`${JSON.stringify(machine)}\n${file}`);
  if (outcomes.some(({ problem }) => problem !== null)) process.exitCode = 1;
}

await main();
