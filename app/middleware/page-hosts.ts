/**
 * The hosts for which an unguarded profiler serves its pages. A page of any domain whose DNS record is changed to this server's
 * address (DNS rebinding) is of the same origin for the browser, and may set every header but Host.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

export interface PageHostsOptions {
  /** Lower-case names beside localhost and addresses; a leading dot for a domain with its subdomains. */
  hosts: readonly string[];
  isFromProxy: (req: IncomingMessage) => boolean;
}

/** Names as `TRUSTED_HOSTS` has them -> whether a host is one of them. */
export function createHostRule(names: readonly string[]): (host: string) => boolean {
  const exact = new Set(names.map((name) => (name.startsWith('.') ? name.slice(1) : name)));
  const domains = names.filter((name) => name.startsWith('.'));
  return (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    return exact.has(name) || domains.some((domain) => name.endsWith(domain));
  };
}

function hostOf({ headers }: IncomingMessage): string {
  const { host, ':authority': authority } = headers as Record<string, string | undefined>;
  return (authority ?? host ?? '').replace(/:\d*$/, '');
}

function isAddress(host: string): boolean {
  return isIP(host) !== 0 || (host.startsWith('[') && isIP(host.slice(1, -1)) === 6);
}

/** A browser on this machine is no proxy, whatever headers its page sends. */
function isThisMachine({ remoteAddress, localAddress }: Partial<IncomingMessage['socket']>): boolean {
  return (
    remoteAddress === undefined ||
    remoteAddress === localAddress ||
    /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress)
  );
}

export function createPageHosts({
  hosts,
  isFromProxy,
}: PageHostsOptions): (req: IncomingMessage) => string | null {
  const isKnown = createHostRule(['.localhost', ...hosts]);
  return (req) => {
    const host = hostOf(req);
    if (host === '' || isAddress(host) || isKnown(host)) return null;
    const isForwarded = Object.keys(req.headers).some((name) => name.startsWith('x-forwarded-'));
    return isForwarded && !isThisMachine(req.socket) && isFromProxy(req) ? null : host;
  };
}
