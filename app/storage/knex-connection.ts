/**
 * Where a host connects, so that a thread can connect there too: as it says, or read off the client of its Knex. Null where a thread
 * can't do the same: another database or driver, a pool that prepares its connections, settings that hold functions.
 */
import type { Knex } from 'knex';

const DEFAULTS = { connectionTimeoutMillis: 5000, keepAlive: true };
const CLIENTS = new Set(['pg', 'postgres', 'postgresql']);
/** Functions in the settings that make no difference to what is written here. */
const NEEDLESS = new Set(['types', 'expirationChecker', 'password']);

/** What is used of Knex's client; none of it is in its types. */
interface KnexClient {
  config: {
    client?: unknown;
    dialect?: unknown;
    connection?: unknown;
    connectionPool?: unknown;
    pool?: { afterCreate?: unknown };
  };
}

/** With properties that pg and Knex hide, such as a password or a key; null where a thread can't have them. */
function plainOf(settings: object): Record<string, unknown> | null {
  const plain: Record<string, unknown> = {};
  for (const name of Object.getOwnPropertyNames(settings)) {
    const value: unknown = (settings as Record<string, unknown>)[name];
    if (NEEDLESS.has(name) && typeof value === 'function') continue;
    plain[name] = name === 'ssl' && typeof value === 'object' && value !== null ? plainOf(value) : value;
  }
  try {
    return structuredClone(plain);
  } catch {
    return null;
  }
}

async function passwordOf(settings: object): Promise<{ password?: unknown }> {
  const password: unknown = 'password' in settings ? settings.password : undefined;
  return typeof password === 'function' ? { password: await (password as () => unknown)() } : {};
}

/** A URL, or settings of `pg`. */
type Place = string | object;

/** What makes it is asked when somebody connects. */
export type GivenConnection = Place | (() => Place | Promise<Place>);

/** Settings of `pg` as they are given. */
export async function settingsIn(given: GivenConnection): Promise<Record<string, unknown>> {
  const place = typeof given === 'function' ? await (given as () => Place | Promise<Place>)() : given;
  const settings = typeof place === 'string' ? { connectionString: place } : place;
  return { ...DEFAULTS, ...settings };
}

/** The same as a thread can have them, in the form of `pg`. */
export async function threadSettings(given: object): Promise<Record<string, unknown> | null> {
  const plain = plainOf(given);
  if (plain === null || plain.ssl === null) return null;
  return { ...DEFAULTS, ...plain, ...(await passwordOf(given)) };
}

/** In the form of `pg`. */
export async function connectionOf(knex: Knex): Promise<Record<string, unknown> | null> {
  const { config } = knex.client as KnexClient;
  const client = config.client ?? config.dialect;
  if (typeof client !== 'string' || !CLIENTS.has(client)) return null;
  if (config.connectionPool !== undefined || config.pool?.afterCreate !== undefined) return null;
  let given = config.connection;
  if (typeof given === 'function') given = await (given as () => unknown)();
  if (typeof given === 'string') given = { connectionString: given };
  return typeof given === 'object' && given !== null ? threadSettings(given) : null;
}
