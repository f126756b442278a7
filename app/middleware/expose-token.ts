/**
 * Lets the script of a separate front end read the token of a response: adds two names to Access-Control-Expose-Headers where the
 * host allows that origin. The only change ever made to a host's response, and only for configured origins.
 */
import { ServerResponse } from 'node:http';

const LIST = 'access-control-expose-headers';
const GRANT = 'access-control-allow-origin';
const ADDED = ['x-debug-token', 'x-debug-token-link'];

type Given = Record<string, unknown> | unknown[];

/** Index of the headers among the arguments of `writeHead`. */
function headersIndex(args: readonly unknown[]): number {
  return typeof args[1] === 'string' ? 2 : 1;
}

function isHeaders(value: unknown): value is Given {
  return typeof value === 'object' && value !== null;
}

/** Names and values as pairs, from an object, a flat list, or a list of pairs. */
function pairsOf(given: Given): [string, unknown][] {
  if (!Array.isArray(given)) return Object.entries(given);
  if (Array.isArray(given[0])) return given as [string, unknown][];
  return Array.from({ length: Math.floor(given.length / 2) }, (_, i) => [
    String(given[2 * i]),
    given[2 * i + 1],
  ]);
}

function valueIn(pairs: readonly [string, unknown][], wanted: string): unknown {
  return pairs.findLast(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** The list with both names; null if it has them already. */
function completed(value: unknown): string | null {
  const given = Array.isArray(value) ? value.join(', ') : String((value as string | undefined) ?? '');
  const names = given.split(',').map((name) => name.trim());
  const known = new Set(names.map((name) => name.toLowerCase()));
  const missing = ADDED.filter((name) => !known.has(name));
  return missing.length === 0 ? null : [...names.filter((name) => name !== ''), ...missing].join(', ');
}

function expose(res: ServerResponse, args: unknown[]): unknown[] {
  const index = headersIndex(args);
  const given = args[index];
  const pairs = isHeaders(given) ? pairsOf(given) : [];
  if ((valueIn(pairs, GRANT) ?? res.getHeader(GRANT)) === undefined) return args;
  const own = valueIn(pairs, LIST);
  const list = completed(own ?? res.getHeader(LIST));
  if (list === null) return args;
  if (own === undefined) {
    // Node's own method, since the host may have replaced it: no layer sets this header.
    ServerResponse.prototype.setHeader.call(res, LIST, list);
    return args;
  }
  const changed = pairs.map(([name, value]) => [name, name.toLowerCase() === LIST ? list : value] as const);
  const copy =
    Array.isArray(given) && !Array.isArray(given[0]) ? changed.flat() : Object.fromEntries(changed);
  return args.map((arg, at) => (at === index ? copy : arg));
}

/** Called when headers are sent, with the arguments of `writeHead`; returns those to use. */
export type ExposeToken = (res: ServerResponse, args: unknown[]) => unknown[];

/** Undefined if no front end is configured: then no response is inspected. */
export function createTokenExposure(frontEnds: ReadonlySet<string>): ExposeToken | undefined {
  if (frontEnds.size === 0) return undefined;
  return (res, args) => {
    const { origin } = res.req.headers;
    if (origin === undefined || !frontEnds.has(origin) || res.headersSent) return args;
    try {
      return expose(res, args);
    } catch {
      // The response stays as the host left it.
      return args;
    }
  };
}
