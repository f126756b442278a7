/** Where and how to connect: the configuration's address, or the embedded server's, in the form that `pg` takes. */
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

/** What is added to each connection that we open. */
export function withTimeouts(settings: ConnectionSettings, connectMs: number): Record<string, unknown> {
  return {
    ...settings,
    application_name: 'express-hindsight',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  };
}

/** For sentences: `host:5432/shop`; the folder of a socket is named as it is. */
export function describeSettings({ host, port, database }: ConnectionSettings): string {
  const place = host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `${place}/${database}`;
}
