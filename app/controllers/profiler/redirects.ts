/** The requests before and after a profile in a chain of redirects, known as visits.ts knows them. */
import type { Profile, ProfileIndex } from '../../profiler/profile.ts';
import type { Profiles } from '../../profiler/profiles.ts';
import { FOLLOWED_WITHIN } from './visits.ts';

export interface Redirects {
  /** The request whose redirect led here. */
  from: ProfileIndex | null;
  /** The request that followed its redirect. */
  to: ProfileIndex | null;
}

/** Milliseconds that a redirecting request may have taken itself. */
const LONGEST = 60_000;
const MOST_ROWS = 50;

/** Whether a client asked that may follow redirects to pages; looking for what led to each call of an API would cost a search. */
function isNavigation({ panels }: Profile): boolean {
  const data = panels.request?.data as { headers?: { name: string; value: string }[] } | null | undefined;
  return (data?.headers ?? []).some(({ name, value }) => {
    const known = name.toLowerCase();
    return (
      (known === 'sec-fetch-dest' && value === 'document') ||
      (known === 'accept' && /text\/html/i.test(value))
    );
  });
}

export async function findRedirects(profiles: Pick<Profiles, 'find'>, profile: Profile): Promise<Redirects> {
  const { kind, token, url, status, clientAddress, startedAt, durationMs } = profile;
  if (kind !== 'request') return { from: null, to: null };
  const page = { clientAddress, limit: MOST_ROWS, offset: 0 };

  async function findBefore(): Promise<ProfileIndex | null> {
    if (!isNavigation(profile)) return null;
    const { rows } = await profiles.find({
      ...page,
      status: { class: 3 },
      from: startedAt - FOLLOWED_WITHIN - LONGEST,
      until: startedAt + 1,
    });
    const led = rows.find(
      (row) =>
        row.location === url &&
        row.token !== token &&
        startedAt - row.startedAt - (row.durationMs ?? 0) <= FOLLOWED_WITHIN,
    );
    return led ?? null;
  }

  async function findAfter(): Promise<ProfileIndex | null> {
    if (status === null || status < 300 || status > 399) return null;
    const [own] = (await profiles.find({ token, limit: 1, offset: 0 })).rows;
    const location = own?.location ?? null;
    if (location === null) return null;
    const { rows } = await profiles.find({
      ...page,
      url: location,
      from: startedAt,
      until: startedAt + (durationMs ?? 0) + FOLLOWED_WITHIN,
      descending: false,
    });
    return rows.find((row) => row.url === location && row.token !== token) ?? null;
  }

  const [from, to] = await Promise.all([findBefore(), findAfter()]);
  return { from, to };
}
