/** Connection settings for `pg`, from the configuration or from the embedded server. */
import type { DatabaseAddress } from '../config/database-url.ts';

export interface ConnectionSettings {
  /** Host name, address, or the folder of a socket. */
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
  ssl?: { rejectUnauthorized: boolean };
}

/** `verified` checks the server's certificate and its name against the system's authorities. */
export function settingsOf(address: DatabaseAddress): ConnectionSettings {
  const { host, port, name, user, password, ssl } = address;
  return {
    host,
    port,
    user,
    database: name,
    ...(password === undefined ? {} : { password }),
    ...(ssl === 'off' ? {} : { ssl: { rejectUnauthorized: ssl === 'verified' } }),
  };
}

/** Settings of every connection that we open. */
export function withTimeouts(settings: ConnectionSettings, connectMs: number): Record<string, unknown> {
  return {
    ...settings,
    application_name: 'express-hindsight',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  };
}

/** For messages: `host:5432/shop`, or the folder of a socket. */
export function describeSettings({ host, port, database }: ConnectionSettings): string {
  const place = host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `${place}/${database}`;
}
