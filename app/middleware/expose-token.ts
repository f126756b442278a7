/**
 * Lets the script of a separate front end read the token of a response: adds two names to Access-Control-Expose-Headers where the
 * host allows that origin, and only for configured origins.
 */
import type { ServerResponse } from 'node:http';
import { changeHeader, sentText } from './head-arguments.ts';

const ADDED = ['x-debug-token', 'x-debug-token-link'];

function completed(list: string): string | null {
  const names = list.split(',').map((name) => name.trim());
  const known = new Set(names.map((name) => name.toLowerCase()));
  const missing = ADDED.filter((name) => !known.has(name));
  return missing.length === 0 ? null : [...names.filter((name) => name !== ''), ...missing].join(', ');
}

export type ExposeToken = (res: ServerResponse, args: unknown[]) => unknown[];

/** Undefined if no front end is configured: then no response is inspected. */
export function createTokenExposure(frontEnds: ReadonlySet<string>): ExposeToken | undefined {
  if (frontEnds.size === 0) return undefined;
  return (res, args) => {
    const { origin } = res.req.headers;
    if (origin === undefined || !frontEnds.has(origin) || res.headersSent) return args;
    return changeHeader(res, args, 'access-control-expose-headers', (list) =>
      sentText(res, args, 'access-control-allow-origin') === '' ? null : completed(list),
    );
  };
}
