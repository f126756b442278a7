/**
 * The SQL that stores a batch: one multi-row INSERT per step, in one transaction.
 *
 * A token that is taken by another request is a clash: the stored profile stays, the newcomer is reported. Rows are
 * written in the order of their tokens, so that two writers never wait for each other crosswise.
 */
import type { Knex } from 'knex';
import type { StoredProfile } from '../profiler/storage.ts';
import { COLUMNS, valuesOf, type ColumnValue } from './rows.ts';

/** PostgreSQL takes 65 535 parameters in a statement; 500 rows of 20 columns stay well below. */
const ROWS_PER_STATEMENT = 500;
/** Characters of documents per statement: what the server must hold at once. */
const CHARACTERS_PER_STATEMENT = 8 * 1024 * 1024;

const ROW_OF_PLACEHOLDERS = `(${COLUMNS.map(() => '?').join(', ')})`;
const REPLACED = COLUMNS.filter((name) => name !== 'token')
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

function isSameRequest(a: StoredProfile, b: StoredProfile): boolean {
  return a.index.process === b.index.process && a.index.startedAt === b.index.startedAt;
}

/** One profile per token, the last of each request; those of another request under a taken token are clashes. */
function withoutRepeats(profiles: readonly StoredProfile[]): {
  kept: StoredProfile[];
  clashes: string[];
} {
  const byToken = new Map<string, StoredProfile>();
  const clashes: string[] = [];
  for (const profile of profiles) {
    const before = byToken.get(profile.index.token);
    if (before !== undefined && !isSameRequest(before, profile)) clashes.push(profile.index.token);
    else if (!(before?.index.state === 'final' && profile.index.state === 'running')) {
      byToken.set(profile.index.token, profile);
    }
  }
  const kept = [...byToken.values()].sort((a, b) => (a.index.token < b.index.token ? -1 : 1));
  return { kept, clashes };
}

function* steps(profiles: readonly StoredProfile[]): Generator<StoredProfile[]> {
  let step: StoredProfile[] = [];
  let characters = 0;
  for (const profile of profiles) {
    const full = characters + profile.document.length > CHARACTERS_PER_STATEMENT;
    if (step.length >= ROWS_PER_STATEMENT || (step.length > 0 && full)) {
      yield step;
      step = [];
      characters = 0;
    }
    step.push(profile);
    characters += profile.document.length;
  }
  if (step.length > 0) yield step;
}

/** Writes one step; returns the tokens that another request has. */
async function writeStep(trx: Knex.Transaction, schema: string, step: StoredProfile[]): Promise<string[]> {
  const values: ColumnValue[] = [];
  for (const profile of step) values.push(...valuesOf(profile));
  const written = await trx.raw<{ rows: { token: string }[] }>(
    `insert into ??.hindsight_profiles as stored (${COLUMNS.join(', ')})
     values ${step.map(() => ROW_OF_PLACEHOLDERS).join(', ')}
     on conflict (token) do update set ${REPLACED}
       where stored.process = excluded.process and stored.started_at = excluded.started_at
         and not (stored.state = 'final' and excluded.state = 'running')
     returning token`,
    [schema, ...values] as Knex.RawBinding[],
  );
  if (written.rows.length === step.length) return [];
  const done = new Set(written.rows.map(({ token }) => token));
  const missing = step.filter(({ index }) => !done.has(index.token));
  const stored = await trx.raw<{ rows: { token: string; process: string; started_at: string }[] }>(
    'select token, process, started_at from ??.hindsight_profiles where token = any(?)',
    [schema, missing.map(({ index }) => index.token)],
  );
  // What is stored of the same request already (a final one before a late running one) is no clash.
  const own = new Set(
    stored.rows.map(({ token, process, started_at }) => `${token} ${started_at} ${process}`),
  );
  return missing
    .filter(({ index }) => !own.has(`${index.token} ${index.startedAt} ${index.process}`))
    .map(({ index }) => index.token);
}

/** Stores all or nothing; returns the tokens whose profile was left out because another request has them. */
export async function writeProfiles(
  knex: Knex,
  schema: string,
  profiles: readonly StoredProfile[],
): Promise<string[]> {
  const { kept, clashes } = withoutRepeats(profiles);
  if (kept.length === 0) return clashes;
  await knex.transaction(async (trx) => {
    for (const step of steps(kept)) clashes.push(...(await writeStep(trx, schema, step)));
  });
  return clashes;
}
