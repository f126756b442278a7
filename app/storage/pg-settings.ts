/** Connection settings of a host, given directly or read from its Knex, in the form of `pg`. */
import { createError } from '../errors.ts';
import type { HostKnex } from '../profiler/host-knex.ts';

export type PgSettings = Record<string, unknown>;

type Place = string | object;

/** A function is called when a connection is needed. */
export type GivenConnection = Place | (() => Place | Promise<Place>);

const DEFAULTS = { connectionTimeoutMillis: 5000, keepAlive: true };
const CLIENTS = new Set(['pg', 'postgres', 'postgresql']);
/** Settings that are not taken over: the storage parses types itself. */
const NEEDLESS = new Set(['types', 'expirationChecker']);

/** The part of Knex's client that is read; its types omit it. */
interface KnexConfig {
  client?: unknown;
  dialect?: unknown;
  connection?: unknown;
  connectionPool?: unknown;
  pool?: { afterCreate?: unknown };
}

function refuse(problem: string): never {
  throw createError('BAD_CONFIG', ['createPostgresStorage', problem]);
}

/** Includes the properties that pg and Knex make non-enumerable, such as a password or a key. */
function visible(settings: object): PgSettings {
  const plain: PgSettings = {};
  for (const name of Object.getOwnPropertyNames(settings)) {
    const value: unknown = (settings as PgSettings)[name];
    if (NEEDLESS.has(name)) continue;
    plain[name] = name === 'ssl' && typeof value === 'object' && value !== null ? visible(value) : value;
  }
  return plain;
}

async function placeOf(given: GivenConnection): Promise<object> {
  const place = typeof given === 'function' ? await (given as () => Place | Promise<Place>)() : given;
  return typeof place === 'string' ? { connectionString: place } : place;
}

export async function settingsIn(given: GivenConnection): Promise<PgSettings> {
  return { ...DEFAULTS, ...visible(await placeOf(given)) };
}

/** Throws if the settings of a Knex can't be read. */
export function connectionOf(knex: HostKnex): GivenConnection {
  const { config } = knex.client as { config: KnexConfig };
  const client = config.client ?? config.dialect;
  const unknown = (reason: string): never =>
    refuse(
      `can't connect as this Knex does: ${reason}. Give it \`connection\`, a URL or settings of pg, instead.`,
    );
  if (typeof client !== 'string' || !CLIENTS.has(client)) return unknown('its client is not "pg"');
  if (config.connectionPool !== undefined) return unknown('its pool was made elsewhere');
  if (config.pool?.afterCreate !== undefined)
    return unknown('its pool prepares connections by `afterCreate`');
  const { connection } = config;
  if (typeof connection === 'function' || typeof connection === 'string') return connection;
  if (typeof connection !== 'object' || connection === null) return unknown('it has no settings');
  return connection;
}
