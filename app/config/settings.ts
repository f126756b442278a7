/**
 * Every setting, once. `Config`, the checks at start, the options of `createProfiler`, the configuration panel and the
 * README's table (`npm run docs`) come from here: a new setting is a row of a table and the code that uses its value.
 */
import { databaseUrl, postgresUrl } from './database-url.ts';
import { editorPaths, editorUrl } from './editor.ts';
import {
  countOrUnlimited,
  domain,
  hostNames,
  hostNamesOrAll,
  oneOf,
  onOff,
  origins,
  password,
  proxyRanges,
  type Reader,
  release,
  schemaName,
  share,
  text,
  wholeNumber,
} from './readers.ts';

export interface Setting<Value = unknown> {
  name: string;
  read: Reader<Value>;
  fallback: Value;
  /** The default in the README, if the fallback does not show it. */
  defaultText?: string;
  /** What the README says, in Markdown. */
  meaning: string;
  /** Never shown: pages say only that it is set. */
  isSecret?: true;
  /** An empty text is a value, too; else it counts as not set. */
  mayBeEmpty?: true;
}

export type SettingsTable = Readonly<Record<string, Setting>>;

export type ValuesOf<Table extends SettingsTable> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value> ? Value : never;
};

function setting<Value>(row: Setting<Value>): Setting<Value> {
  return row;
}

function secret(name: string, meaning: string): Setting<string | null> {
  return { name, read: text, fallback: null, meaning, isSecret: true };
}

/** Each worker opens up to fifteen connections to the database; a larger number is a typing error. */
const MOST_WORKERS = 64;
const HOUR_MS = 3_600_000;

/** Settings of the service that `Config` has under the same key. */
export const serviceSettings = {
  port: setting({
    name: 'PORT',
    read: wholeNumber(0, 65_535),
    fallback: 3000,
    meaning: 'port to listen on; 0 takes a free one',
  }),
  host: setting({ name: 'HOST', read: text, fallback: '127.0.0.1', meaning: 'address to listen on' }),
  workers: setting({
    name: 'WEB_CONCURRENCY',
    read: wholeNumber(1, MOST_WORKERS),
    fallback: 1,
    meaning: 'processes that share the port and the database ([scaling](service/scaling.md))',
  }),
  domain: setting({
    name: 'APP_DOMAIN',
    read: domain,
    fallback: 'localhost',
    meaning: 'domain of the service; names the database schema',
  }),
  trustedProxies: setting({
    name: 'TRUSTED_PROXIES',
    read: proxyRanges,
    fallback: ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
    mayBeEmpty: true,
    meaning: 'proxies whose `x-forwarded-*` headers are trusted; an empty value trusts none',
  }),
  trustedHosts: setting({
    name: 'TRUSTED_HOSTS',
    read: hostNames,
    fallback: null,
    defaultText: 'any',
    meaning: 'host names that the service accepts; `.example.com` for a domain with its subdomains',
  }),
  varDir: setting({
    name: 'VAR_DIR',
    read: text,
    fallback: './var',
    meaning: 'the only folder that the service writes to',
  }),
  drainMs: setting({
    name: 'PROFILER_DRAIN_MS',
    read: wholeNumber(0, HOUR_MS),
    fallback: 25_000,
    meaning:
      'maximum milliseconds between SIGTERM and exit, in which running requests finish and queued profiles are stored. Less than the platform gives (Heroku and Kubernetes: 30 s)',
  }),
  instance: setting({
    name: 'DYNO',
    read: text,
    fallback: null,
    meaning: 'name of the dyno or container, set by the platform; profiles show it as their process',
  }),
} satisfies SettingsTable;

/** Settings of the service that `Config` has in another form. */
export const derivedSettings = {
  env: setting({
    name: 'APP_ENV',
    read: oneOf('dev', 'test', 'prod'),
    fallback: null,
    defaultText: '`dev`; `prod` if `NODE_ENV=production`',
    meaning: '`dev`, `test` or `prod`',
  }),
  debug: setting({
    name: 'APP_DEBUG',
    read: onOff,
    fallback: null,
    defaultText: 'on, off in `prod`',
    meaning: 'whether requests are recorded and `/_profiler` exists',
  }),
  databaseUrl: setting({
    name: 'DATABASE_URL',
    read: databaseUrl,
    fallback: null,
    defaultText: 'none: the embedded PostgreSQL',
    isSecret: true,
    meaning: '`postgres://user:password@host:5432/database?sslmode=require`',
  }),
  dbHost: setting({
    name: 'DB_HOST',
    read: text,
    fallback: null,
    meaning: 'instead of `DATABASE_URL`: host, or folder of a socket',
  }),
  dbPort: setting({
    name: 'DB_PORT',
    read: wholeNumber(1, 65_535),
    fallback: null,
    defaultText: '5432',
    meaning: 'instead of `DATABASE_URL`: port',
  }),
  dbName: setting({
    name: 'DB_NAME',
    read: text,
    fallback: null,
    meaning: 'instead of `DATABASE_URL`: database',
  }),
  dbUser: setting({
    name: 'DB_USER',
    read: text,
    fallback: null,
    defaultText: '`postgres`',
    meaning: 'instead of `DATABASE_URL`: user',
  }),
  dbPassword: secret('DB_PASSWORD', 'password of the database user, if `DATABASE_URL` has none'),
  schema: setting({
    name: 'DB_SCHEMA',
    read: schemaName,
    fallback: null,
    defaultText: '`APP_DOMAIN` as an identifier',
    meaning: 'search path of your connections',
  }),
  appSecret: secret('APP_SECRET', 'a secret of your application: masked wherever it occurs'),
  apiKey: secret('API_KEY', 'a secret of your application: masked wherever it occurs'),
} satisfies SettingsTable;

/** Settings of the profiler: `config.profiler`, and what a host passes to `createProfiler` by the same key. */
export const profilerSettings = {
  password: setting({
    name: 'PROFILER_PASSWORD',
    read: password,
    fallback: null,
    isSecret: true,
    mayBeEmpty: true,
    meaning:
      'password of the profiler’s pages and of full error pages (HTTP Basic, any user name); without one, everyone who can reach them can read them',
  }),
  hosts: setting({
    name: 'PROFILER_HOSTS',
    read: hostNames,
    fallback: [],
    meaning:
      'host names, in addition to `localhost` and addresses, that open the profiler’s pages without a password; `.example.com` for a domain with its subdomains. The service adds `APP_DOMAIN` and `TRUSTED_HOSTS`',
  }),
  retentionHours: setting({
    name: 'PROFILER_RETENTION_HOURS',
    read: wholeNumber(1, 24 * 365),
    fallback: 24,
    meaning: 'hours after which a profile is deleted',
  }),
  retentionCount: setting({
    name: 'PROFILER_RETENTION_COUNT',
    read: wholeNumber(1, 8_000_000),
    fallback: 100_000,
    meaning: 'maximum number of profiles; the oldest are deleted',
  }),
  retentionMb: setting({
    name: 'PROFILER_RETENTION_MB',
    read: wholeNumber(1, 1_000_000),
    fallback: 512,
    meaning:
      'maximum MiB of profiles; the oldest are deleted. In files at most 256, and at most a tenth of the free space',
  }),
  sampleRate: setting({
    name: 'PROFILER_SAMPLE_RATE',
    read: share,
    fallback: 1,
    meaning: 'share of requests that may be recorded in full, 0 to 1; of the others a summary is recorded',
  }),
  fullPerSecond: setting<number | 'unlimited'>({
    name: 'PROFILER_FULL_PER_SECOND',
    read: countOrUnlimited,
    fallback: 100,
    meaning:
      'requests per second and process that are recorded in full, in bursts of five times as many; above that, a summary of each is recorded. `unlimited`: all are; 0: none is',
  }),
  explainMs: setting({
    name: 'PROFILER_EXPLAIN_MS',
    read: wholeNumber(0, HOUR_MS),
    fallback: 100,
    meaning:
      'minimum duration in milliseconds of a query whose plan is recorded (PostgreSQL, `EXPLAIN` after the response); 0 records none',
  }),
  dir: setting<string | null>({
    name: 'PROFILER_DIR',
    read: text,
    fallback: null,
    defaultText:
      'a folder of the project below the user’s folder for caches; in the service `VAR_DIR/profiles`',
    mayBeEmpty: true,
    meaning:
      'folder for the profiles of all processes of the application; with an empty value, each process stores them in memory ([storage](storage.md))',
  }),
  cpu: setting<'off' | 'ask' | 'auto' | null>({
    name: 'PROFILER_CPU',
    read: oneOf('off', 'ask', 'auto'),
    fallback: null,
    defaultText: '`auto`; in a host `off` if `NODE_ENV=production`',
    meaning:
      'which requests get a CPU profile ([how](guides/cpu.md)): `ask`, those requested by a form or a header; `auto`, also the next one to an address that blocked the event loop; `off`, none',
  }),
  editor: setting({
    name: 'PROFILER_EDITOR',
    read: editorUrl,
    fallback: null,
    defaultText: 'detected in development',
    meaning:
      'editor that a `file:line` on the pages opens: `vscode`, `cursor`, `webstorm`, `zed`, an address with `%f`, `%l`, `%c`, or `none`. If unset, it is detected from `VISUAL`, `EDITOR`, the terminal, or a folder such as `.vscode`',
  }),
  editorPaths: setting({
    name: 'PROFILER_EDITOR_PATHS',
    read: editorPaths,
    fallback: {},
    meaning:
      'folders of a container and where they are on your machine: `/app=/home/me/shop,…` (`createProfiler`: an object)',
  }),
  toolbar: setting({
    name: 'PROFILER_TOOLBAR',
    read: onOff,
    fallback: true,
    meaning:
      'whether HTML pages get the toolbar ([toolbar](guides/toolbar.md)); in a host by default off if `NODE_ENV=production`',
  }),
  toolbarOrigins: setting({
    name: 'PROFILER_TOOLBAR_ORIGINS',
    read: origins,
    fallback: [],
    meaning: 'origins of separate front ends that load the toolbar: `http://localhost:5173,…`',
  }),
  release: setting({
    name: 'PROFILER_RELEASE',
    read: release,
    fallback: null,
    defaultText: 'the platform’s variable, such as `HEROKU_SLUG_COMMIT`, else the Git commit',
    meaning:
      'name of the release, such as a commit or `v41`: profiles show it, and the list finds it ([how](guides/list.md#the-release)); an empty value stores none',
    mayBeEmpty: true,
  }),
  serverTiming: setting({
    name: 'PROFILER_SERVER_TIMING',
    read: onOff,
    fallback: false,
    meaning:
      'whether responses carry `Server-Timing`, which browsers show: time until the headers, counts and times of queries, calls, views and cache commands; everyone who gets a response can read it',
  }),
  traceHosts: setting({
    name: 'PROFILER_TRACE_HOSTS',
    read: hostNamesOrAll,
    fallback: [],
    meaning:
      'hosts whose outgoing calls carry the trace of their request (`traceparent`): `localhost`, `.example.com` for a domain with its subdomains, `*` for all. None by default, because it changes your application’s requests ([OpenTelemetry](guides/opentelemetry.md#one-trace-over-services))',
  }),
  otlp: setting({
    name: 'PROFILER_OTLP',
    read: onOff,
    fallback: false,
    meaning:
      'whether profiles are also sent to an OpenTelemetry collector, as traces and logs; the `OTEL_…` settings below say how ([OpenTelemetry](guides/opentelemetry.md)). Without it those have no effect, so an application with its own OpenTelemetry SDK does not export twice',
  }),
  otlpEndpoint: setting({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    read: text,
    fallback: 'http://localhost:4318',
    meaning: 'address of the collector (OTLP over HTTP); `/v1/traces` and `/v1/logs` are appended',
  }),
  otlpHeaders: setting<string | null>({
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    read: text,
    fallback: null,
    isSecret: true,
    meaning: 'headers for the collector: `api-key=…,name=value`, percent-encoded',
  }),
  otlpProtocol: setting({
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    read: text,
    fallback: 'http/json',
    meaning: '`http/json`; any other value prints a warning, and JSON is sent',
  }),
  otlpCompression: setting({
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    read: text,
    fallback: 'gzip',
    meaning: '`gzip` or `none`',
  }),
  serviceName: setting<string | null>({
    name: 'OTEL_SERVICE_NAME',
    read: text,
    fallback: null,
    defaultText: '`unknown_service:node`',
    meaning: 'name of the service in OpenTelemetry ([OpenTelemetry](guides/opentelemetry.md))',
  }),
  resourceAttributes: setting<string | null>({
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    read: text,
    fallback: null,
    meaning: 'further attributes of the service in OpenTelemetry: `deployment.environment.name=staging,…`',
  }),
  replay: setting<'off' | 'safe' | 'all'>({
    name: 'PROFILER_REPLAY',
    read: oneOf('off', 'safe', 'all'),
    fallback: 'safe',
    meaning:
      'which recorded requests an [agent](guides/agents.md) may send to the application again: `safe` (GET and HEAD) or `all`, which may change data. `off` disables it, also on the pages, which otherwise send any method after a confirmation',
  }),
} satisfies SettingsTable;

/** Settings of a host alone; the service has its own for the same. Read by `hindsight()` and `express-hindsight/register`. */
export const hostSettings = {
  enabled: setting({
    name: 'PROFILER',
    read: onOff,
    fallback: null,
    defaultText: 'on, off if `NODE_ENV=production`',
    meaning: 'whether a host is recorded (the service has `APP_DEBUG` instead)',
  }),
  databaseUrl: setting({
    name: 'PROFILER_DATABASE_URL',
    read: postgresUrl,
    fallback: null,
    defaultText: 'none: files',
    isSecret: true,
    meaning:
      'PostgreSQL in which a host stores its profiles, in a schema `hindsight` that it creates; needs the package `pg`',
  }),
} satisfies SettingsTable;

export type ProfilerSettings = ValuesOf<typeof profilerSettings>;

/** The environment or a host's option is wrong; the message names the setting and says what to change. */
export class ConfigError extends Error {
  constructor(name: string, problem: string) {
    super(`${name} ${problem}`);
    this.name = 'ConfigError';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

function readTable<Table extends SettingsTable>(
  table: Table,
  given: (key: string, row: Setting) => unknown,
  nameOf: (key: string, row: Setting) => string,
): ValuesOf<Table> {
  const read = (key: string, row: Setting): unknown => {
    const value = given(key, row);
    try {
      return value === undefined || value === null ? row.fallback : row.read(value);
    } catch (error) {
      throw new ConfigError(nameOf(key, row), (error as Error).message);
    }
  };
  const values = Object.entries(table).map(([key, row]) => [key, read(key, row)]);
  return Object.freeze(Object.fromEntries(values)) as ValuesOf<Table>;
}

export function readEnvironment<Table extends SettingsTable>(
  table: Table,
  env: Environment,
): ValuesOf<Table> {
  return readTable(
    table,
    (_key, { name, mayBeEmpty }) => {
      const value = env[name]?.trim();
      return value === '' && mayBeEmpty !== true ? undefined : value;
    },
    (_key, { name }) => name,
  );
}

/** `options` may have other properties, too. */
export function readOptions(options: Partial<ProfilerSettings>): ProfilerSettings {
  return readTable(
    profilerSettings,
    (key) => options[key as keyof ProfilerSettings],
    (key) => `createProfiler: ${key}`,
  );
}
