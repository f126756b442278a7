/**
 * Lets the script of a separate front end read the token of what its API answered: two names are added to the header that lists
 * what it may read, where the host grants that origin its answer. The one change that is made to a host's answer, and only for
 * origins that were set up.
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

/** With what is missing of the two names; null where both are there. */
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
    // Not by what the host may have put in its place: no layer of its own sets this.
    ServerResponse.prototype.setHeader.call(res, LIST, list);
    return args;
  }
  const changed = pairs.map(([name, value]) => [name, name.toLowerCase() === LIST ? list : value] as const);
  const copy =
    Array.isArray(given) && !Array.isArray(given[0]) ? changed.flat() : Object.fromEntries(changed);
  return args.map((arg, at) => (at === index ? copy : arg));
}

/** Called when the headers of an answer go out, with the arguments of `writeHead`; returns those to be used. */
export type ExposeToken = (res: ServerResponse, args: unknown[]) => unknown[];

/** Undefined where no front end was set up: then nothing is asked of any answer. */
export function createTokenExposure(frontEnds: ReadonlySet<string>): ExposeToken | undefined {
  if (frontEnds.size === 0) return undefined;
  return (res, args) => {
    const { origin } = res.req.headers;
    if (origin === undefined || !frontEnds.has(origin) || res.headersSent) return args;
    try {
      return expose(res, args);
    } catch {
      // Whatever the host did to its response: it stays as it is.
      return args;
    }
  };
}
