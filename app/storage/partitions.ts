/**
 * Lists and creates the partitions of `hindsight_profiles`. Their names contain their range, `hindsight_profiles_<from>_<until>` in
 * milliseconds since 1970. They are created ahead in the background, or by the writer that needs one; if that fails (privileges, a
 * lock), rows go to the default partition. ATTACH is used because it doesn't block work on other partitions.
 */
import { type Client, inTransaction, type Pool, quoted } from './pool.ts';
import { messageOf } from '../errors.ts';

export const PARENT = 'hindsight_profiles';
export const NET = 'hindsight_profiles_default';

export interface PartitionSize {
  requests: number;
  /** Size of the documents. */
  bytes: number;
}

export interface Partition {
  name: string;
  /** Milliseconds since 1970, inclusive. */
  from: number;
  /** Exclusive. */
  until: number;
  /** Counts from the table's comment; one process writes it after the range has ended. */
  size?: PartitionSize;
}

const NAME = /^hindsight_profiles_(\d+)_(\d+)$/;
/** Times further from now than these go to the default partition. */
const OLDEST = 31 * 24 * 3_600_000;
const NEWEST = 24 * 3_600_000;
/** Toast target: bytes of a row without its document; with a lower number URLs, which searches read, are moved out of the row as well. */
const ROW_BYTES = 512;
/** Autovacuum gives way to a lock after PostgreSQL's `deadlock_timeout`, a second by default. */
const LOCK_WAIT_MS = 1500;
const CREATE_MS = 5000;

const SIZE = /^(\d+) requests, (\d+) bytes$/;

/** The comment with the counts of a partition. */
export function noteOf({ requests, bytes }: PartitionSize): string {
  return `${requests} requests, ${bytes} bytes`;
}

function sizeIn(note: string | null): { size?: PartitionSize } {
  const match = SIZE.exec(note ?? '');
  return match === null ? {} : { size: { requests: Number(match[1]), bytes: Number(match[2]) } };
}

/** Oldest first. */
export async function listPartitions(client: Client | Pool, schema: string): Promise<Partition[]> {
  const { rows } = await client.query<{ name: string; note: string | null }>(
    `select part.relname as name, obj_description(part.oid, 'pg_class') as note from pg_inherits
     join pg_class part on part.oid = inhrelid
     join pg_class whole on whole.oid = inhparent
     join pg_namespace place on place.oid = whole.relnamespace
     where whole.relname = $1 and place.nspname = $2`,
    [PARENT, schema],
  );
  return rows
    .flatMap(({ name, note }) => {
      const match = NAME.exec(name);
      return match === null
        ? []
        : [{ name, from: Number(match[1]), until: Number(match[2]), ...sizeIn(note) }];
    })
    .sort((a, b) => a.from - b.from);
}

/** The free range around `at`, aligned to the width; null if a partition contains `at`. */
export function gapAround(at: number, width: number, partitions: readonly Partition[]): Partition | null {
  let from = Math.floor(at / width) * width;
  let until = from + width;
  for (const other of partitions) {
    if (other.from <= at && at < other.until) return null;
    if (other.until <= at) from = Math.max(from, other.until);
    else until = Math.min(until, other.from);
  }
  return { name: `${PARENT}_${from}_${until}`, from, until };
}

async function create(client: Client, schema: string, gap: Partition): Promise<void> {
  const table = (name: string): string => `${quoted(schema)}.${quoted(name)}`;
  await client.query(`create table ${table(gap.name)} (like ${table(NET)} including all)`);
  await client.query(`alter table ${table(gap.name)} set (toast_tuple_target = ${ROW_BYTES})`);
  await client.query(
    `with moved as (delete from ${table(NET)} where started_at >= $1 and started_at < $2 returning *)
     insert into ${table(gap.name)} select * from moved`,
    [gap.from, gap.until],
  );
  await client.query(
    `alter table ${table(PARENT)} attach partition ${table(gap.name)} for values from (${gap.from}) to (${gap.until})`,
  );
}

/** Creates missing partitions for `moments`, under a lock; returns all partitions. */
async function ensurePartitions(
  client: Client,
  options: { schema: string; width: number; moments: readonly number[]; now: number },
): Promise<Partition[]> {
  const { schema, width, moments, now } = options;
  return inTransaction(client, CREATE_MS, async () => {
    await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `hindsight partition ${schema}`,
    ]);
    const partitions = await listPartitions(client, schema);
    for (const at of moments) {
      if (!(at > now - OLDEST && at < now + NEWEST)) continue;
      const gap = gapAround(at, width, partitions);
      if (gap === null) continue;
      await create(client, schema, gap);
      partitions.push(gap);
    }
    return partitions;
  });
}

export interface PartitionKeeper {
  /** Creates the partitions of these times if possible; a failure is reported once a minute. */
  prepare(client: Client, moments: readonly number[]): Promise<void>;
}

const AGAIN_AFTER_MS = 60_000;

/** Remembers the partitions, so that a writer queries them only when a new one is needed. */
export function createPartitionKeeper(options: {
  schema: string;
  width: number;
  say: (sentence: string) => void;
}): PartitionKeeper {
  const { schema, width, say } = options;
  let known: readonly Partition[] = [];
  let failedAt = -Infinity;

  function isKnown(at: number, now: number): boolean {
    if (!(at > now - OLDEST && at < now + NEWEST)) return true;
    return known.some(({ from, until }) => from <= at && at < until);
  }

  return {
    async prepare(client, moments) {
      const now = Date.now();
      const missing = moments.filter((at) => !isKnown(at, now));
      if (missing.length === 0 || performance.now() - failedAt < AGAIN_AFTER_MS) return;
      try {
        known = await ensurePartitions(client, { schema, width, moments: missing, now });
      } catch (error) {
        failedAt = performance.now();
        say(
          'A partition for new profiles could not be made ' +
            `(${messageOf(error)}); they go into ${schema}.${NET}.`,
        );
      }
    },
  };
}
