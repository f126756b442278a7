/**
 * Clients that make the request of node:http in a later turn publish it when it is asked for: the constructor of superagent calls
 * `redirects`, that of request calls `init`.
 */
import { channel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { wrapCalls } from './wrap-method.ts';

export const CALL_ASKED = 'express-hindsight:call:asked';

const asked = channel(CALL_ASKED);

interface Exports {
  Request?: { prototype?: object };
}

function publishing(name: string, method: string): LibraryPatch {
  return {
    name,
    patch: (exports) =>
      wrapCalls((exports as Exports).Request?.prototype, method, (call, self) => {
        const result = call();
        if (asked.hasSubscribers) {
          const { method: verb, url, uri } = self as Record<'method' | 'url' | 'uri', unknown>;
          asked.publish({
            method: String(verb),
            url: String((uri as { href?: unknown } | undefined)?.href ?? url),
          });
        }
        return result;
      }),
  };
}

export const httpClientPatches: readonly LibraryPatch[] = [
  publishing('superagent', 'redirects'),
  publishing('request', 'init'),
];
