/**
 * Environment -> frozen, typed Config; the only reader of process.env. Read once, at start: nothing that a request
 * carries can change it. A wrong value throws a ConfigError whose message says what to change, without its secret parts.
 */
import { isIP, isIPv4 } from 'node:net';
import { resolve } from 'node:path';
import { editorPaths, editorPattern, type EditorSettings } from './config/editor.ts';
import { readOrigins } from './config/origins.ts';

export interface DatabaseAddress {
  host: string;
  port: number;
  name: string;
  user: string;
  /** Absent where the server asks for none. */
  password?: string;
  /** From `sslmode` of DATABASE_URL: off, encrypted without check, or checked. */
  ssl: 'off' | 'unverified' | 'verified';
}

export interface ProfilerConfig {
  /** Milliseconds a profile is kept. */
  retentionMs: number;
  /** Profiles kept at most. */
  retentionCount: number;
  /** Bytes of documents kept at most. */
  retentionBytes: number;
  /** Bytes of one body kept as preview. */
  previewBytes: number;
  /** Share of requests recorded in full, 0 to 1. */
  sampleRate: number;
  /** Milliseconds from which a request that is sampled out is kept as slow. */
  slowMs: number;
  /** Milliseconds from which on a statement's plan is kept; 0: none is. */
  explainMs: number;
  /** Asked for as HTTP Basic password before any page is shown; null: none. */
  password: string | null;
  /** Opens places of the application; null: no such links. */
  editor: EditorSettings | null;
  /** Whether HTML documents get the toolbar. */
  toolbar: boolean;
  /** Origins of separate front ends that load the toolbar. */
  toolbarOrigins: readonly string[];
}

export interface Config {
  env: 'dev' | 'test' | 'prod';
  debug: boolean;
  host: string;
  port: number;
  /** Processes that answer, sharing the port; 1: this one alone. */
  workers: number;
  domain: string;
  schema: string;
  /** null: the embedded PostgreSQL (debug) or none (debug off). */
  database: DatabaseAddress | null;
  /** CIDR ranges. */
  trustedProxies: readonly string[];
  /** Lower-case host names, a leading dot for a domain with all its subdomains; null: any well-formed host. */
  trustedHosts: readonly string[] | null;
  /** Absolute path of the only folder written to. */
  varDir: string;
  profiler: ProfilerConfig;
  /** Dyno or container name, where the platform gives one. */
  instance: string | null;
  /** Values to mask wherever they occur, by the name of their variable. */
  secrets: Readonly<Record<string, string>>;
  /** Sentences to log at start. */
  warnings: readonly string[];
}

/** The environment does not make a configuration; the message names the variable and what to change. */
export class ConfigError extends Error {
  constructor(name: string, problem: string) {
    super(`${name} ${problem}`);
    this.name = 'ConfigError';
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_PROXIES = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];
/** Settings whose values are never shown. */
export const SECRET_NAMES = ['APP_SECRET', 'DB_PASSWORD', 'API_KEY', 'PROFILER_PASSWORD'] as const;
const MEBIBYTE = 1024 * 1024;
/** Shorter values would be masked inside ordinary words. */
const SHORTEST_MASKED_VALUE = 8;
/** Each keeps up to fifteen connections to the database; a larger number is a slip of the pen. */
const MOST_WORKERS = 64;
/** PostgreSQL cuts identifiers at 63 bytes. */
const IDENTIFIER_LIMIT = 63;

function read(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

function readInteger(
  env: Environment,
  name: string,
  options: { fallback: number; min: number; max: number },
): number {
  const text = read(env, name);
  if (text === undefined) return options.fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < options.min || value > options.max) {
    throw new ConfigError(name, `is "${text}"; set a whole number from ${options.min} to ${options.max}.`);
  }
  return value;
}

function readShare(env: Environment, name: string): number {
  const text = read(env, name);
  if (text === undefined) return 1;
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 1) {
    throw new ConfigError(
      name,
      `is "${text}"; set a number from 0 to 1, such as 0.1 for one request in ten.`,
    );
  }
  return value;
}

function readEnv(env: Environment): Config['env'] {
  const value = read(env, 'APP_ENV') ?? (isProduction(env) ? 'prod' : 'dev');
  if (value !== 'dev' && value !== 'test' && value !== 'prod') {
    throw new ConfigError('APP_ENV', `is "${value}"; set it to dev, test or prod.`);
  }
  return value;
}

function readSwitch(env: Environment, name: string, fallback: boolean): boolean {
  const text = read(env, name);
  if (text === undefined) return fallback;
  if (/^(1|true|on|yes)$/i.test(text)) return true;
  if (/^(0|false|off|no)$/i.test(text)) return false;
  throw new ConfigError(name, `is "${text}"; set it to 1 or 0.`);
}

/** Whether the process says so; asked where a host says nothing. */
export function isProduction(env: Environment = process.env): boolean {
  return env.NODE_ENV === 'production';
}

/** `shop.example.com` -> `shop_example_com`; at most 63 characters, never beginning with a digit or `pg_`. */
export function schemaOf(domain: string): string {
  let name = domain.toLowerCase().replace(/[^a-z0-9_]+/g, '_');
  if (!/^[a-z_]/.test(name) || name.startsWith('pg_')) name = `_${name}`;
  return name.slice(0, IDENTIFIER_LIMIT);
}

function readDomain(env: Environment): string {
  const domain = (read(env, 'APP_DOMAIN') ?? 'localhost').toLowerCase();
  if (domain.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(domain)) {
    throw new ConfigError('APP_DOMAIN', `is "${domain}"; set a host name such as shop.example.com.`);
  }
  return domain;
}

function readSchema(env: Environment, domain: string): string {
  const schema = read(env, 'DB_SCHEMA');
  if (schema === undefined) return schemaOf(domain);
  if (!/^[A-Za-z_][A-Za-z0-9_$]*$/.test(schema) || schema.length > IDENTIFIER_LIMIT || /^pg_/i.test(schema)) {
    throw new ConfigError(
      'DB_SCHEMA',
      `is "${schema}"; set letters, digits and underscores, at most 63, not beginning with a digit or "pg_".`,
    );
  }
  return schema;
}

function sslOf(mode: string | null): DatabaseAddress['ssl'] {
  if (mode === null || mode === 'disable' || mode === 'allow' || mode === 'prefer') return 'off';
  if (mode === 'require' || mode === 'no-verify') return 'unverified';
  if (mode === 'verify-ca' || mode === 'verify-full') return 'verified';
  throw new ConfigError('DATABASE_URL', `asks for sslmode "${mode}"; use disable, require or verify-full.`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ConfigError(
      'DATABASE_URL',
      'holds a percent sign that encodes nothing; write a literal % as %25.',
    );
  }
}

function parseDatabaseUrl(text: string): DatabaseAddress {
  const form = 'set postgres://user:password@host:5432/database, with special characters percent-encoded.';
  let url: URL;
  try {
    // A user before no host at all, the form for a socket's folder in `?host=`, is not an address to URL.
    url = new URL(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[:/])/, '$1localhost'));
  } catch {
    throw new ConfigError('DATABASE_URL', `is not an address; ${form}`);
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    throw new ConfigError('DATABASE_URL', `begins with "${url.protocol}"; ${form}`);
  }
  const host = url.searchParams.get('host') || decode(url.hostname) || 'localhost';
  const port = url.searchParams.get('port') ?? url.port;
  if (!/^\d{0,5}$/.test(port)) throw new ConfigError('DATABASE_URL', `names the port "${port}"; ${form}`);
  const name = decode(url.pathname.slice(1));
  if (name === '') throw new ConfigError('DATABASE_URL', `names no database; ${form}`);
  const password = url.password === '' ? undefined : decode(url.password);
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 5432 : Number(port),
    name,
    user: decode(url.username) || 'postgres',
    ...(password === undefined ? {} : { password }),
    ssl: sslOf(url.searchParams.get('sslmode')),
  };
}

function readDatabase(env: Environment): DatabaseAddress | null {
  const url = read(env, 'DATABASE_URL');
  const parts = ['DB_HOST', 'DB_PORT', 'DB_NAME', 'DB_USER'].filter((name) => read(env, name) !== undefined);
  if (url !== undefined) {
    if (parts.length > 0) {
      throw new ConfigError(
        'DATABASE_URL',
        `is set together with ${parts.join(', ')}; keep one of the two forms.`,
      );
    }
    const address = parseDatabaseUrl(url);
    const password = address.password ?? read(env, 'DB_PASSWORD');
    return password === undefined ? address : { ...address, password };
  }
  if (parts.length === 0) return null;
  const host = read(env, 'DB_HOST');
  const name = read(env, 'DB_NAME');
  if (host === undefined || name === undefined) {
    const missing = host === undefined ? 'DB_HOST' : 'DB_NAME';
    throw new ConfigError(
      missing,
      `is missing while ${parts.join(', ')} is set; set it, or use DATABASE_URL.`,
    );
  }
  const password = read(env, 'DB_PASSWORD');
  return {
    host,
    port: readInteger(env, 'DB_PORT', { fallback: 5432, min: 1, max: 65535 }),
    name,
    user: read(env, 'DB_USER') ?? 'postgres',
    ...(password === undefined ? {} : { password }),
    ssl: 'off',
  };
}

function splitList(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function readProxies(env: Environment): readonly string[] {
  const text = env.TRUSTED_PROXIES;
  if (text === undefined) return DEFAULT_PROXIES;
  return splitList(text).map((range) => {
    const [address = '', bits, ...rest] = range.split('/');
    const most = isIPv4(address) ? 32 : 128;
    if (
      isIP(address) === 0 ||
      rest.length > 0 ||
      (bits !== undefined && (!/^\d+$/.test(bits) || Number(bits) > most))
    ) {
      throw new ConfigError(
        'TRUSTED_PROXIES',
        `holds "${range}"; list addresses or ranges such as 10.0.0.0/8.`,
      );
    }
    return bits === undefined ? `${address}/${most}` : range;
  });
}

function readHosts(env: Environment): readonly string[] | null {
  const text = read(env, 'TRUSTED_HOSTS');
  if (text === undefined) return null;
  return splitList(text.toLowerCase()).map((host) => {
    if (!/^\.?([a-z0-9_-]+\.)*[a-z0-9_-]+$|^\[[0-9a-f:.]+\]$/.test(host)) {
      throw new ConfigError(
        'TRUSTED_HOSTS',
        `holds "${host}"; list host names, ".example.com" for a whole domain.`,
      );
    }
    return host;
  });
}

/** By what throws a sentence that says what is wrong; undefined where it is not set. */
function readBy<Made>(env: Environment, name: string, make: (text: string) => Made): Made | undefined {
  const text = read(env, name);
  try {
    return text === undefined ? undefined : make(text);
  } catch (error) {
    throw new ConfigError(name, (error as Error).message);
  }
}

function readEditor(env: Environment): EditorSettings | null {
  const url = readBy(env, 'PROFILER_EDITOR', editorPattern) ?? null;
  const paths = readBy(env, 'PROFILER_EDITOR_PATHS', editorPaths) ?? {};
  return url === null ? null : { url, paths };
}

function readSecrets(
  env: Environment,
  database: DatabaseAddress | null,
): { secrets: Record<string, string>; warnings: string[] } {
  const secrets: Record<string, string> = {};
  const warnings: string[] = [];
  for (const name of SECRET_NAMES) {
    const value = read(env, name);
    if (value !== undefined) secrets[name] = value;
  }
  if (database?.password !== undefined) secrets.DB_PASSWORD = database.password;
  for (const [name, value] of Object.entries(secrets)) {
    if (value.length < SHORTEST_MASKED_VALUE) {
      warnings.push(
        `${name} is shorter than ${SHORTEST_MASKED_VALUE} characters: it is masked by name and in connection strings, not wherever it occurs. Use a longer one.`,
      );
    }
  }
  return { secrets, warnings };
}

/** Whether only this machine reaches the address. */
function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/i.test(host);
}

function warnOfStrangers({ debug, host, profiler }: Config): string[] {
  if (!debug || profiler.password !== null || isLoopback(host)) return [];
  return [
    `WHOEVER REACHES ${host} CAN READ EVERY REQUEST, its headers, queries and source excerpts, without a password: ` +
      'set PROFILER_PASSWORD, or, where no profiler is wanted, APP_ENV=prod.',
  ];
}

/** Reads and checks everything. Throws a ConfigError. `env` is process.env unless a test gives another. */
export function readConfig(env: Environment = process.env): Config {
  const appEnv = readEnv(env);
  const domain = readDomain(env);
  const database = readDatabase(env);
  const { secrets, warnings } = readSecrets(env, database);
  const config: Config = {
    env: appEnv,
    debug: readSwitch(env, 'APP_DEBUG', appEnv !== 'prod'),
    host: read(env, 'HOST') ?? '127.0.0.1',
    port: readInteger(env, 'PORT', { fallback: 3000, min: 0, max: 65535 }),
    workers: readInteger(env, 'WEB_CONCURRENCY', { fallback: 1, min: 1, max: MOST_WORKERS }),
    domain,
    schema: readSchema(env, domain),
    database,
    trustedProxies: readProxies(env),
    trustedHosts: readHosts(env),
    varDir: resolve(read(env, 'VAR_DIR') ?? 'var'),
    profiler: {
      retentionMs:
        readInteger(env, 'PROFILER_RETENTION_HOURS', { fallback: 24, min: 1, max: 24 * 365 }) * 3_600_000,
      retentionCount: readInteger(env, 'PROFILER_RETENTION_COUNT', {
        fallback: 100_000,
        min: 1,
        max: 8_000_000,
      }),
      retentionBytes:
        readInteger(env, 'PROFILER_RETENTION_MB', { fallback: 512, min: 1, max: 1_000_000 }) * MEBIBYTE,
      previewBytes: readInteger(env, 'PROFILER_PREVIEW_BYTES', { fallback: 16_384, min: 0, max: MEBIBYTE }),
      sampleRate: readShare(env, 'PROFILER_SAMPLE_RATE'),
      slowMs: readInteger(env, 'PROFILER_SLOW_MS', { fallback: 1000, min: 1, max: 3_600_000 }),
      explainMs: readInteger(env, 'PROFILER_EXPLAIN_MS', { fallback: 100, min: 0, max: 3_600_000 }),
      password: read(env, 'PROFILER_PASSWORD') ?? null,
      editor: readEditor(env),
      toolbar: readSwitch(env, 'PROFILER_TOOLBAR', true),
      toolbarOrigins: readBy(env, 'PROFILER_TOOLBAR_ORIGINS', readOrigins) ?? [],
    },
    instance: read(env, 'DYNO') ?? null,
    secrets: Object.freeze(secrets),
    warnings,
  };
  warnings.push(...warnOfStrangers(config));
  Object.freeze(warnings);
  return Object.freeze(config);
}
