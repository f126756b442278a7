/**
 * `npm run stress -- ledger [--requests=20000 --connections=32 --workers=1 --restarts=0 --database-restarts=0 --sample=500]`
 *
 * Books the token of every answer of the real service, and then looks from outside for the profile of each: tokens given
 * = profiles stored, none given twice, none lost. With `--restarts` the service is ended by SIGTERM and started anew that
 * often, under load that never pauses; with `--database-restarts` its PostgreSQL crashes that often and is away for 3 s, and what the
 * service counts as dropped has to be what is missing. Prints one table; ends with 1 where the books do not balance.
 */
import { parseArgs } from 'node:util';
import { createAccount } from './ledger/account.ts';
import { openPlace, type Place } from './ledger/place.ts';
import { record, type Recording } from './ledger/record.ts';
import { startService } from './ledger/service.ts';
import { bookStored, bytesStored, openThere } from './ledger/verify.ts';

type Table = Record<string, string | number>;

function readArguments() {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '20000' },
      connections: { type: 'string', default: '32' },
      workers: { type: 'string', default: '1' },
      restarts: { type: 'string', default: '0' },
      'database-restarts': { type: 'string', default: '0' },
      sample: { type: 'string', default: '500' },
    },
  });
  return {
    requests: Number(values.requests),
    connections: Number(values.connections),
    workers: Number(values.workers),
    restarts: Number(values.restarts),
    databaseRestarts: Number(values['database-restarts']),
    sample: Number(values.sample),
  };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function describeRecording({ answers, broken, withoutToken, exits, slowestExitMs }: Recording): Table {
  return {
    'requests answered': answers,
    'requests without an answer': broken,
    'answers without a token': withoutToken,
    'exits other than 0': exits.filter((code) => code !== 0).length,
    'slowest exit, ms': Math.round(slowestExitMs),
  };
}

async function run(place: Place, options: ReturnType<typeof readArguments>): Promise<Table> {
  const { restarts, databaseRestarts, workers } = options;
  const account = createAccount();
  const recording = await record({ place, account, log, ...options });
  for (const complaint of new Set(recording.complaints)) log(complaint);

  const other = await startService(recording.port, recording.env);
  await bookStored(place.knex, account);
  const bytes = await bytesStored(place.knex);
  const sample = account.sample(options.sample);
  const opened = await openThere(`http://127.0.0.1:${recording.port}`, sample);
  await other.end();

  const totals = account.totals();
  if (totals.examples.length > 0) log(`Missing: ${totals.examples.join(', ')}`);
  const balanced =
    totals.missing === recording.dropped &&
    totals.givenTwice + totals.storedTwice + recording.withoutToken === 0 &&
    sample.length - opened <= recording.dropped &&
    recording.exits.every((code) => code === 0);
  if (!balanced) process.exitCode = 1;
  const { seconds, visibleAfterMs } = recording;
  return {
    workers,
    ...(restarts > 0 ? { 'restarts by SIGTERM': restarts } : {}),
    ...(databaseRestarts > 0 ? { 'crashes of the database': databaseRestarts } : {}),
    ...describeRecording(recording),
    'tokens given (with those of error pages)': totals.given,
    'given twice': totals.givenTwice,
    'profiles stored': totals.stored,
    'stored twice': totals.storedTwice,
    'given, and not stored': totals.missing,
    ...(databaseRestarts > 0 ? { 'counted as dropped by the service': recording.dropped } : {}),
    'stored, and not given (no answer came)': totals.storedButNotGiven,
    [`opened by another process, of ${sample.length}`]: opened,
    ...(restarts > 0 ? {} : { 'requests per second': Math.round(recording.answers / seconds) }),
    ...(visibleAfterMs === null
      ? {}
      : { 'all seen by another session after, ms': Math.round(visibleAfterMs) }),
    'bytes per profile, with indexes': Math.round(bytes / Math.max(1, totals.stored)),
    verdict: balanced ? 'balanced' : 'DOES NOT BALANCE',
  };
}

function print(table: Table): void {
  const rows = [['', ''], ...Object.entries(table).map(([name, value]) => [name, String(value)])];
  const [left, right] = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = ([name = '', value = '']: string[]): string =>
    `| ${name.padEnd(left ?? 0)} | ${value.padEnd(right ?? 0)} |`;
  const [head = [], ...rest] = rows.map(line);
  console.log([head, `| ${'-'.repeat(left ?? 0)} | ${'-'.repeat(right ?? 0)} |`, ...rest].join('\n'));
}

export async function main(): Promise<void> {
  const place = await openPlace();
  try {
    print(await run(place, readArguments()));
  } finally {
    await place.close();
  }
}
