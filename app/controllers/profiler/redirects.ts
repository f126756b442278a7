/** The requests before and after a profile in a chain of redirects, found with the rules of visits.ts. */
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { Profiles } from '../../profiler/read/profiles.ts';
import { FOLLOWED_WITHIN } from './list/visits.ts';

const LONGEST = 60_000;
const MOST_ROWS = 50;

/** Whether the client is a browser that loads a page; for API calls the search is not worth its cost. */
function isNavigation(profile: Profile): boolean {
  return (dataOf(profile, 'request')?.headers ?? []).some(({ name, value }) => {
    const lower = name.toLowerCase();
    return (
      (lower === 'sec-fetch-dest' && value === 'document') ||
      (lower === 'accept' && /text\/html/i.test(value))
    );
  });
}

const MOST_STEPS = 10;

export async function findCameFrom(
  profiles: Pick<Profiles, 'find'>,
  profile: Profile,
): Promise<ProfileIndex[]> {
  const { kind, token, url, clientAddress, startedAt } = profile;
  if (kind !== 'request' || !isNavigation(profile)) return [];
  const { rows } = await profiles.find({
    clientAddress,
    limit: MOST_ROWS,
    counted: false,
    status: [{ from: 300, to: 399 }],
    from: startedAt - FOLLOWED_WITHIN - LONGEST,
    until: startedAt + 1,
  });
  const chain: ProfileIndex[] = [];
  const seen = new Set([token]);
  let at: Pick<ProfileIndex, 'url' | 'startedAt'> = { url, startedAt };
  while (chain.length < MOST_STEPS) {
    const { url: wanted, startedAt: until } = at;
    const led = rows.find(
      (row) =>
        row.location === wanted &&
        row.startedAt <= until &&
        !seen.has(row.token) &&
        until - row.startedAt - (row.durationMs ?? 0) <= FOLLOWED_WITHIN,
    );
    if (led === undefined) break;
    seen.add(led.token);
    chain.unshift(led);
    at = led;
  }
  return chain;
}

export async function findRedirects(profiles: Pick<Profiles, 'find'>, profile: Profile) {
  const { kind, token, status, clientAddress, startedAt, durationMs } = profile;
  if (kind !== 'request') return { from: null, to: null };

  async function findAfter(): Promise<ProfileIndex | null> {
    if (status === null || status < 300 || status > 399) return null;
    const [row] = (await profiles.find({ token, limit: 1 })).rows;
    const location = row?.location ?? null;
    if (location === null) return null;
    const { rows } = await profiles.find({
      clientAddress,
      limit: MOST_ROWS,
      counted: false,
      url: location,
      from: startedAt,
      until: startedAt + (durationMs ?? 0) + FOLLOWED_WITHIN,
      descending: false,
    });
    return rows.find((row) => row.url === location && row.token !== token) ?? null;
  }

  const [chain, to] = await Promise.all([findCameFrom(profiles, profile), findAfter()]);
  return { from: chain.at(-1) ?? null, to };
}
