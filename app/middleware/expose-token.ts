/**
 * Lets the script of a separate front end read the token of a response: adds two names to Access-Control-Expose-Headers where the
 * host allows that origin, and only for configured origins.
 */
import type { ServerResponse } from 'node:http';
import { headerPairs, valueText, withHeaders } from './head-arguments.ts';
import { OutgoingMessage } from '../node-http.ts';

const LIST = 'access-control-expose-headers';
const GRANT = 'access-control-allow-origin';
const ADDED = ['x-debug-token', 'x-debug-token-link'];

function valueIn(pairs: readonly [string, unknown][], wanted: string): unknown {
  return pairs.findLast(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** The list with both names; null if it has them already. */
function completed(value: unknown): string | null {
  const names = valueText(value)
    .split(',')
    .map((name) => name.trim());
  const known = new Set(names.map((name) => name.toLowerCase()));
  const missing = ADDED.filter((name) => !known.has(name));
  return missing.length === 0 ? null : [...names.filter((name) => name !== ''), ...missing].join(', ');
}

function expose(res: ServerResponse, args: unknown[]): unknown[] {
  const pairs = headerPairs(args);
  if ((valueIn(pairs, GRANT) ?? res.getHeader(GRANT)) === undefined) return args;
  const own = valueIn(pairs, LIST);
  const list = completed(own ?? res.getHeader(LIST));
  if (list === null) return args;
  if (own === undefined) {
    // Node's own method, which is not observed: no layer sets this header.
    OutgoingMessage.prototype.setHeader.call(res, LIST, list);
    return args;
  }
  return withHeaders(
    args,
    pairs.map(([name, value]) => [name, name.toLowerCase() === LIST ? list : value]),
  );
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
