/**
 * Environment -> frozen `Config`, by the tables of settings; the only reader of process.env. Read once, at start: nothing that a
 * request carries can change it.
 */
import { resolve } from 'node:path';
import type { DatabaseAddress } from './config/database-url.ts';
import { chooseEditor, type FoundEditor } from './config/editor.ts';
import { headerSecrets, otlpTarget } from './config/otlp.ts';
import { IDENTIFIER_LIMIT } from './config/readers.ts';
import { gitCommit, platformRelease, releaseName } from './config/release.ts';
import {
  ConfigError,
  derivedSettings,
  type Environment,
  hostSettings,
  profilerSettings,
  type ProfilerSettings,
  readEnvironment,
  serviceSettings,
  type ValuesOf,
} from './config/settings.ts';

export { ConfigError } from './config/settings.ts';

export interface Config extends ValuesOf<typeof serviceSettings> {
  readonly env: 'dev' | 'test' | 'prod';
  readonly debug: boolean;
  readonly schema: string;
  /** null: the embedded PostgreSQL (debug) or none (debug off). */
  readonly database: DatabaseAddress | null;
  readonly profiler: ProfilerSettings;
  /** Values to mask wherever they occur, by the name of their variable. */
  readonly secrets: Readonly<Record<string, string>>;
  /** All settings by the names of the environment, for the configuration panel; of a secret only that it is set. */
  readonly shown: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

type Derived = ValuesOf<typeof derivedSettings>;

/** Shorter values would be masked inside ordinary words. */
const SHORTEST_MASKED_VALUE = 8;

/** Whether NODE_ENV says so; decides where nothing else is set. */
export function isProduction(env: Environment = process.env): boolean {
  return env.NODE_ENV === 'production';
}

/** Whether V8 may be measuring coverage of this process: for c8, Jest or Vitest. */
export function measuresCoverage(env: Environment = process.env): boolean {
  return ['NODE_V8_COVERAGE', 'JEST_WORKER_ID', 'VITEST'].some((name) => env[name] !== undefined);
}

/** Whether a host is recorded: as its code says, else as PROFILER says, else everywhere except in production. */
export function isEnabled(given: boolean | undefined, env: Environment = process.env): boolean {
  const { enabled } = hostSettings;
  return given ?? readEnvironment({ enabled }, env).enabled ?? !isProduction(env);
}

/** What decides where profiles are stored. `dir`: null if the variable is not set; an empty text keeps them in memory. */
export function environmentOfStore(env: Environment = process.env): {
  env: Environment;
  dir: string | null;
  isTest: boolean;
  isFrozenBetween: boolean;
} {
  return {
    env,
    dir: env[profilerSettings.dir.name]?.trim() ?? null,
    isTest: env.NODE_ENV === 'test',
    // These platforms stop the process after each response.
    isFrozenBetween: env.AWS_LAMBDA_FUNCTION_NAME !== undefined || env.VERCEL !== undefined,
  };
}

export function editorOf(
  given: string | null,
  root: string,
  env: Environment = process.env,
): FoundEditor | null {
  return chooseEditor(given, { root, env, isProduction: isProduction(env) });
}

/** The release of what runs in a folder: as set, as the platform names it, else the commit that is checked out; null if there is none. */
export function findRelease(
  given: string | null,
  root: string,
  env: Environment = process.env,
): string | null {
  if (given === '') return null;
  return given ?? platformRelease(env) ?? releaseName(gitCommit(root) ?? '');
}

export function passwordsIn(url: string | null | undefined): string[] {
  if (url === null || url === undefined || !URL.canParse(url)) return [];
  const { password: given, searchParams } = new URL(url);
  const asked = searchParams.get('password');
  return [decodeURIComponent(given), asked ?? ''].filter((text) => text !== '');
}

/** Secrets of an application that its environment has, whichever entry point it uses: masked wherever they occur. */
export function environmentSecrets(env: Environment = process.env): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const name of ['APP_SECRET', 'API_KEY', 'DB_PASSWORD', 'PGPASSWORD', 'PROFILER_PASSWORD'])
    secrets[name] = env[name] ?? '';
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'PROFILER_DATABASE_URL'])
    for (const [at, value] of passwordsIn(env[name]).entries()) secrets[`${name} ${at}`] = value;
  return secrets;
}

/** Settings of a host that the environment has, for a profiler that records with these options. */
export function hostEnvironment(
  { enabled }: { enabled?: boolean | undefined },
  env: Environment = process.env,
): Record<string, unknown> {
  if (!isEnabled(enabled, env)) return {};
  const values = { ...readEnvironment(hostSettings, env), ...readEnvironment(profilerSettings, env) };
  const tables = { ...hostSettings, ...profilerSettings };
  return Object.fromEntries(
    Object.entries(values).filter(
      ([key]) => (env[tables[key as keyof typeof tables].name] ?? '').trim() !== '',
    ),
  );
}

/** `shop.example.com` -> `shop_example_com`; at most 63 characters, never beginning with a digit or `pg_`. */
export function schemaOf(domain: string): string {
  let name = domain.toLowerCase().replace(/[^a-z0-9_]+/g, '_');
  if (!/^[a-z_]/.test(name) || name.startsWith('pg_')) name = `_${name}`;
  return name.slice(0, IDENTIFIER_LIMIT);
}

function databaseOf({
  databaseUrl,
  dbHost,
  dbPort,
  dbName,
  dbUser,
  dbPassword,
}: Derived): DatabaseAddress | null {
  const parts = Object.entries({ DB_HOST: dbHost, DB_PORT: dbPort, DB_NAME: dbName, DB_USER: dbUser })
    .filter(([, value]) => value !== null)
    .map(([name]) => name)
    .join(', ');
  const password = dbPassword === null ? {} : { password: dbPassword };
  if (databaseUrl !== null) {
    if (parts !== '')
      throw new ConfigError('DATABASE_URL', `is set together with ${parts}; keep one of the two forms.`);
    return { ...password, ...databaseUrl };
  }
  if (parts === '') return null;
  if (dbHost === null || dbName === null)
    throw new ConfigError(
      dbHost === null ? 'DB_HOST' : 'DB_NAME',
      `is missing while ${parts} is set; set it, or use DATABASE_URL.`,
    );
  return {
    host: dbHost,
    port: dbPort ?? 5432,
    name: dbName,
    user: dbUser ?? 'postgres',
    ...password,
    ssl: 'off',
  };
}

/** Whether the profiler's pages open for every host that a trusted proxy names. */
export function isOpenBehindProxies({
  domain,
  trustedHosts,
  profiler,
}: Pick<Config, 'domain' | 'trustedHosts' | 'profiler'>): boolean {
  return domain === serviceSettings.domain.fallback && trustedHosts === null && profiler.password === null;
}

function warningsOf(config: Omit<Config, 'warnings'>): string[] {
  const { secrets, debug, host } = config;
  const open =
    debug && isOpenBehindProxies(config) && !/^(?:127\.|::1$|localhost$)/.test(host)
      ? [
          `HOST is ${host}, and APP_DOMAIN, TRUSTED_HOSTS and PROFILER_PASSWORD are unset: whoever can reach the service, by any host name, can read every recorded request. Set PROFILER_PASSWORD, or the names that the service has.`,
        ]
      : [];
  const short = Object.keys(secrets).filter((name) => (secrets[name] ?? '').length < SHORTEST_MASKED_VALUE);
  return [
    ...open,
    ...short.map(
      (name) =>
        `${name} is shorter than ${SHORTEST_MASKED_VALUE} characters: it is masked by name and in connection strings, not wherever it occurs. Use a longer one.`,
    ),
  ];
}

/** Reads and checks everything. Throws a ConfigError. `env` is process.env unless a test gives another. */
export function readConfig(env: Environment = process.env): Config {
  const service = readEnvironment(serviceSettings, env);
  const derived = readEnvironment(derivedSettings, env);
  const profiler = readEnvironment(profilerSettings, env);
  const appEnv = derived.env ?? (isProduction(env) ? 'prod' : 'dev');
  const database = databaseOf(derived);
  const known = {
    ...service,
    varDir: resolve(service.varDir),
    env: appEnv,
    debug: derived.debug ?? appEnv !== 'prod',
    schema: derived.schema ?? schemaOf(service.domain),
  };
  const values: Record<string, unknown> = {
    ...derived,
    ...known,
    ...profiler,
    dbHost: database?.host,
    dbPort: database?.port,
    dbName: database?.name,
    dbUser: database?.user,
    dbPassword: database?.password ?? derived.dbPassword,
  };
  const secrets: Record<string, string> = {};
  const shown: Record<string, unknown> = {};
  for (const [key, { name, isSecret }] of Object.entries({
    ...serviceSettings,
    ...derivedSettings,
    ...profilerSettings,
  })) {
    const value = values[key] ?? null;
    shown[name] = isSecret === true && value !== null ? 'set' : value;
    if (isSecret === true && typeof value === 'string') secrets[name] = value;
  }
  // DATABASE_URL may have another one.
  if (derived.dbPassword !== null && derived.dbPassword !== secrets.DB_PASSWORD) {
    secrets['The password of DATABASE_URL'] = secrets.DB_PASSWORD ?? '';
    secrets.DB_PASSWORD = derived.dbPassword;
  }
  Object.assign(secrets, headerSecrets(profiler.otlpHeaders));
  // Throws where the export is on and can't work.
  otlpTarget(profiler);
  const config = {
    ...known,
    database,
    profiler,
    secrets: Object.freeze(secrets),
    shown: Object.freeze(shown),
  };
  return Object.freeze({ ...config, warnings: Object.freeze(warningsOf(config)) });
}
