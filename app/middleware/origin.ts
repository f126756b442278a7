/**
 * Where a request comes from and what its client calls us: plain facts of a connection -> RequestOrigin and request id. Without
 * Express's types, so that it serves requests refused by the parser, too. The proxy's eight headers count only from a trusted peer;
 * they are read from `rawHeaders`, which contains repeated lines, and where `__proto__` is an ordinary name.
 */
import { isIPv6 } from 'node:net';
import type { RequestOrigin } from '../profiler/record/facts.ts';
import {
  type Authority,
  type ConnectionFacts,
  hostErrorOf,
  parseAuthority,
  printOrigin,
  readPort,
  readRequestId,
  type RefusedHost,
} from './connection.ts';
import { createTrust, readAddress, readChain } from './client-address.ts';
import { createHostRule } from './page-hosts.ts';
import { addTo } from '../profiler/group-by.ts';

export interface ResolvedOrigin {
  origin: RequestOrigin;
  refusedHost: RefusedHost | null;
  requestId: string;
  receivedRequestId: string | null;
}

export interface OriginResolver {
  resolve(facts: ConnectionFacts): ResolvedOrigin;
  trusts(address: string): boolean;
}

export interface OriginOptions {
  trustedProxies: readonly string[];
  /** Lower-case host names, a leading dot for a domain with its subdomains; null: any well-formed host. */
  trustedHosts: readonly string[] | null;
}

const WANTED = new Set([
  'host',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-real-ip',
  'x-request-id',
  'x-scheme',
]);

type HeaderTable = ReadonlyMap<string, readonly string[]>;

function readTable(rawHeaders: readonly string[]): HeaderTable {
  const table = new Map<string, string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (!WANTED.has(name)) continue;
    addTo(table, name, rawHeaders[i + 1] ?? '');
  }
  return table;
}

function firstOf(table: HeaderTable, name: string): string | null {
  const lines = table.get(name);
  if (lines === undefined) return null;
  for (const line of lines) {
    for (const part of line.split(',')) {
      const text = part.trim();
      if (text !== '') return text;
    }
  }
  return null;
}

function schemeOf(table: HeaderTable, { encrypted }: ConnectionFacts, trusted: boolean): 'http' | 'https' {
  const names = trusted ? ['x-forwarded-proto', 'x-forwarded-scheme', 'x-scheme'] : [];
  for (const name of names) {
    const value = firstOf(table, name);
    if (value !== null) return value.toLowerCase() === 'https' ? 'https' : 'http';
  }
  return encrypted ? 'https' : 'http';
}

/** The server's own address, for a client that sends no Host. */
function ownAuthority({ localAddress, localPort }: ConnectionFacts): Authority {
  const address = readAddress(localAddress) ?? 'localhost';
  return { host: isIPv6(address) ? `[${address}]` : address, port: readPort(String(localPort)) };
}

function authorityOf(table: HeaderTable, facts: ConnectionFacts, trusted: boolean): Authority | RefusedHost {
  const lines = table.get('host') ?? [];
  const sent = lines[0] ?? '';
  if (lines.length > 1) return { code: 'INVALID_HOST', host: lines.join(', ') };
  // RFC 9112, section 3.2: required in HTTP/1.1, where it may be empty; 1.0 knows no Host.
  if (lines.length === 0 && facts.httpVersion !== '1.0') return { code: 'INVALID_HOST', host: '' };
  const own = sent === '' ? ownAuthority(facts) : parseAuthority(sent);
  if (own === null) return { code: 'INVALID_HOST', host: sent };
  const forwarded = trusted ? firstOf(table, 'x-forwarded-host') : null;
  if (forwarded === null) return own;
  return parseAuthority(forwarded) ?? { code: 'INVALID_HOST', host: forwarded };
}

export function createOriginResolver({ trustedProxies, trustedHosts }: OriginOptions): OriginResolver {
  const trusts = createTrust(trustedProxies);
  const isTrustedHost = trustedHosts === null ? () => true : createHostRule(trustedHosts);

  function refusalOf(authority: Authority | RefusedHost): RefusedHost | null {
    if ('code' in authority) return authority;
    return isTrustedHost(authority.host) ? null : { code: 'UNTRUSTED_HOST', host: authority.host };
  }

  return {
    trusts,
    resolve(facts) {
      const table = readTable(facts.rawHeaders);
      const peer = readAddress(facts.remoteAddress) ?? '';
      const trusted = trusts(peer);
      const scheme = schemeOf(table, facts, trusted);
      const authority = authorityOf(table, facts, trusted);
      const refusedHost = refusalOf(authority);
      const malformed = 'code' in authority;
      const forwardedPort = trusted ? readPort(firstOf(table, 'x-forwarded-port')) : null;
      const port = forwardedPort ?? (malformed ? null : authority.port) ?? (scheme === 'https' ? 443 : 80);
      const { clientAddress, chain } = readChain({
        peer,
        trusted,
        forwardedFor: table.get('x-forwarded-for') ?? null,
        realIp: firstOf(table, 'x-real-ip'),
        trusts,
      });
      return {
        origin: {
          scheme,
          host: malformed ? null : authority.host,
          port,
          origin: malformed || refusedHost !== null ? null : printOrigin(scheme, authority.host, port),
          clientAddress,
          chain,
          trusted,
          hostError: refusedHost === null ? null : hostErrorOf(refusedHost).message,
        },
        refusedHost,
        ...readRequestId(table.get('x-request-id')?.join(', '), trusted),
      };
    },
  };
}
