/** Who last changed the session that a request had: whatever keeps it, requests of one process that have the same one know it by its mark. */
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import type { Kept } from './panel-data.ts';

type Request = EarlierRequest<Partial<Kept>>;

/** Among the writers of what a request read. */
export const SESSION = 'request session';

function sessionOf({ kept }: Request) {
  return kept.request?.sessionAndUser ?? {};
}

function textOf(request: Request): string {
  return JSON.stringify(sessionOf(request).session ?? null);
}

function endedAt({ head, kept }: Request): number {
  return head.startedAt + (kept.request?.response?.headersAtMs ?? Infinity);
}

/** It made the session: the client came without it, or with another one. */
function isFirst(one: Request): boolean {
  const { former } = sessionOf(one);
  const isNew = (one.kept.request?.jar.length ?? 0) === 0;
  return former !== undefined || isNew;
}

/** `before`: the newest first. null: unknown, or this request changed it by itself. */
export function sessionWriter(own: Request, before: readonly Request[]): Request | null {
  const { mark } = sessionOf(own);
  if (mark === undefined) return null;
  const same = before.filter((one) => sessionOf(one).mark === mark);
  const [newest] = same;
  // What runs at the same time may save later.
  if (newest === undefined || same.some((one) => endedAt(one) > own.head.startedAt)) return null;
  if (textOf(newest) !== textOf(own)) return null;
  for (const [at, one] of same.entries()) {
    const previous = same[at + 1];
    if (previous === undefined ? isFirst(one) : textOf(previous) !== textOf(one)) return one;
  }
  return null;
}
