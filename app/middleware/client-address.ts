/** Which peers are trusted, and which address of a proxy chain is the client's. */
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import { dropOldest } from '../profiler/drop-oldest.ts';

const ADDRESS_WITH_PORT = /^(?:\[([0-9a-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i;
/** Addresses whose trust is remembered: to parse one takes as long as routing a request. */
const MOST_ADDRESSES = 1000;
const LONGEST_ADDRESS = 45;
/** `/0` in halves, because proxy-addr refuses it. */
const EVERY: Readonly<Record<number, readonly string[]>> = {
  4: ['0.0.0.0/1', '128.0.0.0/1'],
  6: ['::/1', '8000::/1'],
};

/**
 * An address as headers and sockets write it -> without brackets, port and zone, IPv4 out of its IPv6-mapped form; null for anything
 * else. ipaddr.js alone would take `1` for an address.
 */
export function readAddress(text: string): string | null {
  const trimmed = text.trim().replace(/%.*$/, '');
  const match = isIP(trimmed) === 0 ? ADDRESS_WITH_PORT.exec(trimmed) : null;
  const address = match === null ? trimmed : (match[1] ?? match[2] ?? '');
  const family = isIP(address);
  if (family === 0) return null;
  return family === 4 ? address : ipaddr.process(address).toString();
}

/** CIDR ranges -> whether an address is in one. IPv4-mapped addresses count as IPv4; `::1` only if listed. */
export function createTrust(ranges: readonly string[]): (address: string) => boolean {
  const isIn = proxyAddr.compile(
    ranges.flatMap((range) => (range.endsWith('/0') ? (EVERY[isIP(range.slice(0, -2))] ?? []) : [range])),
  );
  const known = new Map<string, boolean>();
  return (address) => {
    const before = known.get(address);
    if (before !== undefined) return before;
    const isTrusted = isIn(address);
    if (address.length <= LONGEST_ADDRESS) known.set(address, isTrusted);
    dropOldest(known, MOST_ADDRESSES);
    return isTrusted;
  };
}

interface ChainFacts {
  peer: string;
  trusted: boolean;
  forwardedFor: readonly string[] | null;
  realIp: string | null;
  trusts: (address: string) => boolean;
}

/** The client is the nearest untrusted address; if all are trusted, the farthest. What is not an address is dropped. */
export function readChain({ peer, trusted, forwardedFor, realIp, trusts }: ChainFacts): {
  clientAddress: string;
  chain: readonly string[];
} {
  if (!trusted) return { clientAddress: peer, chain: [peer] };
  const named = forwardedFor?.flatMap((line) => line.split(',')) ?? (realIp === null ? [] : [realIp]);
  const chain = named.map(readAddress).filter((address) => address !== null);
  chain.push(peer);
  const clientAddress = chain.findLast((address) => !trusts(address)) ?? chain[0] ?? peer;
  return { clientAddress, chain };
}
