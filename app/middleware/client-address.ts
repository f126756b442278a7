/** Addresses: which peers are trusted, and which address of a proxy chain is the client's. */
import { BlockList, isIP, isIPv4 } from 'node:net';

const ADDRESS_WITH_PORT = /^(?:\[([0-9a-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i;
/** Answers kept, so that the peers of a busy server are looked up once. */
const REMEMBERED = 1000;

/** `::ffff:10.0.0.1`, in any of its spellings, -> `10.0.0.1`; other addresses as they are, in lower case. */
function unmap(address: string): string {
  const lower = address.toLowerCase();
  if (!lower.includes('ffff')) return lower;
  const canonical = new URL(`http://[${lower}]`).hostname;
  const words = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(canonical);
  if (words === null) return lower;
  const [high, low] = [parseInt(words[1] ?? '', 16), parseInt(words[2] ?? '', 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** An address as headers and sockets write it, without brackets, port and zone; null for anything else. */
export function readAddress(text: string): string | null {
  const trimmed = text.trim().replace(/%.*$/, '');
  const family = isIP(trimmed);
  if (family === 4) return trimmed;
  if (family === 6) return unmap(trimmed);
  const match = ADDRESS_WITH_PORT.exec(trimmed);
  const inner = match?.[1] ?? match?.[2] ?? '';
  return isIP(inner) === 0 ? null : unmap(inner);
}

/** CIDR ranges -> whether an address lies in one. IPv4-mapped forms count as IPv4; `::1` only where it is listed. */
export function createTrust(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  const known = new Map<string, boolean>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const address = readAddress(text);
    const trusted = address !== null && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
    if (known.size >= REMEMBERED) known.clear();
    known.set(text, trusted);
    return trusted;
  };
}

interface ChainFacts {
  peer: string;
  trusted: boolean;
  /** The lines of x-forwarded-for; null where there is none. */
  forwardedFor: readonly string[] | null;
  realIp: string | null;
  trusts: (address: string) => boolean;
}

/** The nearest untrusted address is the client; where all are trusted, the farthest. Garbage in the list is dropped. */
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
