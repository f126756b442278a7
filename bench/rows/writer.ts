/**
 * Storing 4 KB profiles in hundreds: `storage.write` against a raw COPY of the same rows into a table with the same
 * indexes, in interleaved slices. The client runs on the measured core, PostgreSQL on the other.
 */
import type { Knex } from 'knex';
import pg from 'pg';
import type { QueuedProfile } from '../../app/index.ts';
import { openKnex } from '../../test/support/postgres.ts';
import { builtDoor } from '../harness/built-door.ts';
import { columnsOf, copyInto, linesOf } from '../harness/copy.ts';
import { openDatabase, type Database } from '../harness/database.ts';
import { startEmbedded } from '../harness/embedded.ts';
import type { Figure } from '../harness/figure.ts';
import { pinThisProcess } from '../harness/pin.ts';
import type { Row } from '../harness/row.ts';
import { batches, sampleProfile } from '../harness/sample-profiles.ts';
import { spreadOf } from '../harness/statistics.ts';

const BATCH = 100;
const BATCHES_PER_SLICE = 20;
const SLICES = 9;

type Write = (profiles: readonly QueuedProfile[]) => Promise<void>;

interface Speed {
  perSecond: number;
  /** Microseconds of this process per profile. */
  cpu: number;
}

async function timed(write: Write, slice: readonly QueuedProfile[][]): Promise<Speed> {
  const [startedAt, cpuBefore] = [performance.now(), process.cpuUsage()];
  for (const batch of slice) await write(batch);
  const { user, system } = process.cpuUsage(cpuBefore);
  const profiles = slice.length * BATCH;
  return { perSecond: (profiles / (performance.now() - startedAt)) * 1000, cpu: (user + system) / profiles };
}

/** What the profiler's queue does with a document when it comes: UTF-8 outside the heap. */
function queued(profiles: readonly QueuedProfile[]): QueuedProfile[] {
  return profiles.map(({ index, document }) => ({ index, document, bytes: Buffer.from(document) }));
}

async function openCopy(knex: Knex, client: pg.Client, schema: string): Promise<Write> {
  await knex.raw('create table ??.copied (like ??.hindsight_profiles including all)', [schema, schema]);
  const sql = `copy ${schema}.copied (${columnsOf(sampleProfile(0, { total: 1, newest: 0 }))}) from stdin`;
  return (profiles) => copyInto(client, pg.Query, sql, linesOf(profiles));
}

async function compare(
  database: Omit<Database, 'crash' | 'stop'>,
): Promise<{ stored: Speed[]; copied: Speed[] }> {
  const { createPostgresStorage } = await builtDoor();
  const { connection, schema } = await database.freshSchema();
  const knex = openKnex(connection);
  const client = new pg.Client({ ...connection });
  await client.connect();
  const total = (SLICES + 1) * BATCHES_PER_SLICE * BATCH;
  const profiles = [...batches(0, total, total, BATCH)];
  const storage = createPostgresStorage({ knex: () => knex, schema });
  const copy = await openCopy(knex, client, schema);
  const [stored, copied]: [Speed[], Speed[]] = [[], []];
  pinThisProcess('measured');
  for (let slice = 0; slice <= SLICES; slice++) {
    const part = profiles.slice(slice * BATCHES_PER_SLICE, (slice + 1) * BATCHES_PER_SLICE);
    copied.push(await timed(copy, part));
    stored.push(await timed((batch) => storage.write(queued(batch)), part));
  }
  pinThisProcess('others');
  await storage.close();
  await client.end();
  await knex.destroy();
  // The first slice of each warms up.
  return { stored: stored.slice(1), copied: copied.slice(1) };
}

async function figuresOf(
  goal: number,
  label: string,
  database: Omit<Database, 'crash' | 'stop'>,
): Promise<Figure[]> {
  const { stored, copied } = await compare(database);
  const ratio = spreadOf(stored.map(({ perSecond }, slice) => perSecond / (copied[slice]?.perSecond ?? NaN)));
  const figure = (what: string, unit: string, values: number[]): Figure => {
    const spread = spreadOf(values);
    return { goal: null, what: `  ${label}: ${what}`, unit, value: spread.median, spread };
  };
  return [
    {
      goal,
      what: `writer, ${label}: profiles per second, against raw COPY`,
      unit: 'x',
      value: ratio.median,
      spread: ratio,
      must: 0.5,
      aim: 0.7,
      atLeast: true,
    },
    figure('written', '/s', stored.map(({ perSecond }) => perSecond)),
    figure('copied', '/s', copied.map(({ perSecond }) => perSecond)),
    figure('CPU of the writing process', 'µs', stored.map(({ cpu }) => cpu)),
    figure('CPU of the copying process', 'µs', copied.map(({ cpu }) => cpu)),
  ]; // prettier-ignore
}

export const writer: Row = {
  name: 'writer',
  what: 'storing in PostgreSQL, against raw COPY',
  run: async (bench) => figuresOf(6, 'PostgreSQL', await bench.database()),
};

export const writerEmbedded: Row = {
  name: 'writer-embedded',
  what: 'storing in the embedded PostgreSQL, against raw COPY',
  async run() {
    const server = await startEmbedded();
    const database = openDatabase(server.connection);
    try {
      return await figuresOf(7, 'embedded', database);
    } finally {
      await database.knex.destroy();
      await server.stop();
    }
  },
};
