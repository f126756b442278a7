/** DATABASE_URL -> the parts of an address. A wrong one throws a sentence without its name, its user or its password. */

export interface DatabaseAddress {
  host: string;
  port: number;
  name: string;
  user: string;
  /** Absent if the server asks for none. */
  password?: string;
  /** From `sslmode` of DATABASE_URL: off, encrypted without check, or checked. */
  ssl: 'off' | 'unverified' | 'verified';
}

const FORM = 'set postgres://user:password@host:5432/database, with special characters percent-encoded.';

function sslOf(mode: string | null): DatabaseAddress['ssl'] {
  if (mode === null || mode === 'disable' || mode === 'allow' || mode === 'prefer') return 'off';
  if (mode === 'require' || mode === 'no-verify') return 'unverified';
  if (mode === 'verify-ca' || mode === 'verify-full') return 'verified';
  throw new Error(`asks for sslmode "${mode}"; use disable, require or verify-full.`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error('holds a percent sign that encodes nothing; write a literal % as %25.');
  }
}

function parse(text: string): URL {
  try {
    // `user@` without a host, as in `postgres://user@/name?host=/run/pg`, is libpq's form for a socket; URL refuses it.
    return new URL(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[:/])/, '$1localhost'));
  } catch {
    throw new Error(`is not an address; ${FORM}`);
  }
}

export function databaseUrl(given: unknown): DatabaseAddress {
  const url = parse(String(given));
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')
    throw new Error(`begins with "${url.protocol}"; ${FORM}`);
  const host = url.searchParams.get('host') || decode(url.hostname) || 'localhost';
  const port = url.searchParams.get('port') ?? url.port;
  if (!/^\d{0,5}$/.test(port)) throw new Error(`names the port "${port}"; ${FORM}`);
  const name = decode(url.pathname.slice(1));
  if (name === '') throw new Error(`names no database; ${FORM}`);
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 5432 : Number(port),
    name,
    user: decode(url.username) || 'postgres',
    ...(url.password === '' ? {} : { password: decode(url.password) }),
    ssl: sslOf(url.searchParams.get('sslmode')),
  };
}

export function postgresUrl(given: unknown): string {
  databaseUrl(given);
  return String(given);
}
