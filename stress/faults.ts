/**
 * `npm run stress -- faults [--seconds=5 --rate=60 --rounds=5 --only=stall,sigkill]`
 *
 * Drives the built service through faults of its database, its machine, its clients and itself, under steady load. After each one the books
 * are balanced: tokens given = profiles stored, and the service's own ledger (`/_profiler/health.json`) adds up. Prints one table; ends with 1
 * if a fault was not borne, or something took too long, which on a busy machine means nothing.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { DriveOptions, Fault } from './faults/drive.ts';
import { faults } from './faults/index.ts';
import { createReport, type Outcome } from './faults/outcome.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rate: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
  },
});
const options: DriveOptions = {
  seconds: Number(values.seconds),
  rate: Number(values.rate),
  rounds: Number(values.rounds),
};
const wanted = values.only.split(',').filter(Boolean);

function isWanted({ name }: Fault): boolean {
  return wanted.length === 0 || wanted.includes(name);
}

async function driveOne(fault: Fault): Promise<Outcome> {
  const report = createReport();
  if (fault.needsRoot === true && process.getuid?.() !== 0) report.expect(false, 'not driven: it needs root');
  else
    try {
      await fault.drive(options, report);
    } catch (error) {
      report.expect(false, error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
  return report.outcome();
}

export async function main(): Promise<void> {
  console.log('| name | fault | tokens | failed | missing | figures | load | |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const fault of faults.filter(isWanted)) {
    const { tokens, failed, missing, figures, broken, late } = await driveOne(fault);
    const held = late.length === 0 ? 'held' : `held, LATE: ${late.join('; ')}`;
    const verdict = broken.length === 0 ? held : `NOT HELD: ${[...broken, ...late].join('; ')}`;
    const cells = [
      fault.name,
      fault.title,
      tokens,
      failed,
      missing,
      figures.join(', '),
      loadavg()[0]?.toFixed(1),
      verdict,
    ];
    console.log(`| ${cells.join(' | ')} |`);
    if (broken.length + late.length > 0) process.exitCode = 1;
  }
}
