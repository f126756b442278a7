/** Index rows of profiles that are not stored yet: of running requests and of the queue. */
import type { ProfileIndex } from './profile-index.ts';
import { matcherOf } from './query-rows.ts';
import type { Recorder } from './recorder.ts';
import type { ProfileQuery } from './storage.ts';
import type { Writer } from './writer.ts';

/** Milliseconds that rows of running requests may take, because a thousand may be open; further ones are rows of summaries. */
const WHOLE_ROWS_MS = 5;

/** `stored`: what the storage gave for the same query. */
export function findUnstored(
  { recorder, writer }: { recorder: Recorder; writer: Pick<Writer, 'pending'> },
  query: ProfileQuery,
  stored: readonly ProfileIndex[],
): ProfileIndex[] {
  const until = performance.now() + WHOLE_ROWS_MS;
  // The latest version of a profile counts.
  const rows = new Map(Array.from(writer.pending(), ({ index }) => [index.token, index]));
  for (const context of recorder.runningContexts())
    rows.set(context.token, recorder.indexOf(context, performance.now() > until));
  for (const { token } of stored) rows.delete(token);
  return [...rows.values()].filter(matcherOf(query));
}
