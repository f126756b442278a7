/** What the page of a summary shows besides it: the same second in the list, and a form that has its route recorded in full. */
import type { Profile } from '../../profiler/profile.ts';
import { pathsOf } from '../../profiler/route-in-full.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';
import { urls } from '../../urls.ts';
import type { PageServices } from './page-services.ts';

const SECOND = 1000;

/** null: it is no summary of a request. */
export async function readSummary(
  { profiles, routeInFull }: Pick<PageServices, 'profiles' | 'routeInFull'>,
  { kind, summary, startedAt, process, method, route }: Profile,
) {
  if (kind !== 'request' || summary === null) return null;
  const from = Math.floor(startedAt / SECOND) * SECOND;
  const until = from + SECOND;
  const countOf = async (query: Pick<ProfileQuery, 'isFull'>): Promise<number> =>
    (await profiles.find({ process, from, until, ...query, limit: 1, offset: 0 })).total;
  const [count, full] = await Promise.all([countOf({}), countOf({ isFull: true }), routeInFull.refresh()]);
  const canStart = route !== null && pathsOf(route) !== null;
  return {
    /** Requests of its process that began in the same second, and how many of them were recorded in full. */
    count,
    full,
    href: urls.search({
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      process,
    }),
    /** null: its route can't be told before a request is routed. */
    form: canStart ? { route: `${method} ${route}`, until: routeInFull.until({ method, route }) } : null,
  };
}
