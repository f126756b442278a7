/** Finds pinned profiles. A pin is a late fact beside its profile and has a separate index. */
import type { ProfileIndex } from '../profiler/profile-index.ts';
import type { FindResult } from '../profiler/storage.ts';
import type { Client } from './pool.ts';

/** Tokens of pinned profiles. `schema`: quoted for SQL. */
export function pinnedTokens(schema: string): string {
  return `select token from ${schema}.hindsight_amendments where name = 'pin' and value not in ('null', 'false')`;
}

/** Which of these rows are pinned. */
export async function pinsOf(
  client: Client,
  schema: string,
  rows: readonly ProfileIndex[],
): Promise<Pick<FindResult, 'pinned'>> {
  if (rows.length === 0) return {};
  const { rows: found } = await client.query<{ token: string }>(
    `${pinnedTokens(schema)} and token = any($1)`,
    [rows.map(({ token }) => token)],
  );
  const pinned = found.map(({ token }) => token);
  return pinned.length === 0 ? {} : { pinned };
}
