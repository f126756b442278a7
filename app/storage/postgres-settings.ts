/** Settings that all processes of one schema share, and the secrets among them: made by whichever process comes first. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Pool } from './pool.ts';
import { storable } from './text.ts';

export interface SettingsTable {
  pool: Pool;
  schema: string;
}

const KEY_BYTES = 16;
const TOKEN_KEY = 'token_key';

export async function readSetting({ pool, schema }: SettingsTable, name: string): Promise<string | null> {
  const result = await pool.raw<{ rows: { value: string }[] }>(
    'select value from ??.hindsight_settings where name = ?',
    [schema, storable(name)],
  );
  return result.rows[0]?.value ?? null;
}

export async function writeSetting(
  { pool, schema }: SettingsTable,
  name: string,
  value: string | null,
): Promise<void> {
  if (value === null)
    await pool.raw('delete from ??.hindsight_settings where name = ?', [schema, storable(name)]);
  else
    await pool.raw(
      `insert into ??.hindsight_settings (name, value) values (?, ?)
       on conflict (name) do update set value = excluded.value`,
      [schema, storable(name), storable(value)],
    );
}

/** The key of all tokens. `proposed`: taken over where there is none yet. */
export async function tokenKey(
  table: SettingsTable,
  proposed: Buffer = randomBytes(KEY_BYTES),
): Promise<Buffer> {
  const { pool, schema } = table;
  let key = await readSetting(table, TOKEN_KEY);
  if (key === null) {
    await pool.raw(
      'insert into ??.hindsight_settings (name, value) values (?, ?) on conflict (name) do nothing',
      [schema, TOKEN_KEY, proposed.toString('hex')],
    );
    key = await readSetting(table, TOKEN_KEY);
  }
  const bytes = Buffer.from(key ?? '', 'hex');
  if (bytes.length !== KEY_BYTES)
    throw new Error(`${schema}.hindsight_settings holds no usable ${TOKEN_KEY}.`);
  return bytes;
}

/** Derived from the key of tokens, of which it tells nothing. */
export async function formKey(table: SettingsTable): Promise<Buffer> {
  return createHmac('sha256', await tokenKey(table))
    .update('forms')
    .digest();
}
