/** Helpers of rules that read the exception panel. */
import type { ThrownRecord } from '../../panels/exception/data.ts';

/** `file:line` of the topmost frame in own code; null if unknown. */
export function lineOf({ place }: Pick<ThrownRecord, 'place'>): string | null {
  const { file = null, line = null } = place?.frame ?? {};
  return file === null || line === null ? file : `${file}:${line}`;
}

/** It was thrown, rejected or passed to `next()`, not just logged, or read from the response. */
export function wasSeen({ origin }: Pick<ThrownRecord, 'origin'>): boolean {
  return origin !== 'logged' && origin !== 'sent';
}

/** What Node.js throws for a header that is set after the headers were sent (`ERR_HTTP_HEADERS_SENT`). */
export function isAnsweredTwice({ late, origin, thrown }: ThrownRecord): boolean {
  if (!late && origin !== 'late') return false;
  return /^Cannot \w+ headers after they are sent/.test(thrown.chain.at(-1)?.message ?? '');
}
