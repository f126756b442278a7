/** Settings shared by all processes of one schema, including secrets. The first process creates the secrets. */
import { createHmac, randomBytes } from 'node:crypto';
import { type Store, tableIn } from './pool.ts';
import { storable } from './text.ts';

const KEY_BYTES = 16;
const TOKEN_KEY = 'token_key';

const tableOf = ({ schema }: Store): string => tableIn(schema, 'hindsight_settings');

export async function readSetting(store: Store, name: string): Promise<string | null> {
  const { rows } = await store.pool.query<{ value: string }>(
    `select value from ${tableOf(store)} where name = $1`,
    [storable(name)],
  );
  return rows[0]?.value ?? null;
}

export async function writeSetting(store: Store, name: string, value: string | null): Promise<void> {
  const table = tableOf(store);
  if (value === null) await store.pool.query(`delete from ${table} where name = $1`, [storable(name)]);
  else
    await store.pool.query(
      `insert into ${table} (name, value) values ($1, $2)
       on conflict (name) do update set value = excluded.value`,
      [storable(name), storable(value)],
    );
}

/** The key of all tokens. `proposed` is stored if there is no key yet. */
export async function tokenKey(store: Store, proposed: Buffer = randomBytes(KEY_BYTES)): Promise<Buffer> {
  let key = await readSetting(store, TOKEN_KEY);
  if (key === null) {
    await store.pool.query(
      `insert into ${tableOf(store)} (name, value) values ($1, $2) on conflict (name) do nothing`,
      [TOKEN_KEY, proposed.toString('hex')],
    );
    key = await readSetting(store, TOKEN_KEY);
  }
  const bytes = Buffer.from(key ?? '', 'hex');
  if (bytes.length !== KEY_BYTES)
    throw new Error(`${store.schema}.hindsight_settings holds no usable ${TOKEN_KEY}.`);
  return bytes;
}

/** Derived from the key of tokens by a one-way function. */
export async function formKey(store: Store): Promise<Buffer> {
  return createHmac('sha256', await tokenKey(store))
    .update('forms')
    .digest();
}
