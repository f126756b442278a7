/**
 * Requests -> visits: one row per page view, with its redirects, its fetches and the requests that it made itself folded under it. Calls
 * are known by their trace; the rest is inferred from client address, Location, referrer and time (docs/guides/list.md), so two people behind one
 * address can be taken for one.
 */
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import { tokenInSpan } from '../../../profiler/record/trace-context.ts';

export interface Visit {
  head: ProfileIndex;
  redirects: ProfileIndex[];
  fetches: ProfileIndex[];
  calls: ProfileIndex[];
  alike: ProfileIndex[];
}

export interface VisitsPage {
  rows: number;
  visits: Visit[];
}

export const FOLLOWED_WITHIN = 10_000;
const FETCHED_WITHIN = 60_000;
const GUESSED_WITHIN = 10_000;
const SHORTEST_RUN = 3;
const POLLED = 20;
export const MOST_ALIKE = 5;
export const MOST_CALLS = 10;
const ROWS_PER_VISIT = 4;

function addressOf(clientAddress: string, url: string): string {
  return `${clientAddress}\n${url}`;
}

interface Reach {
  fetched: number;
  guessed: number;
}

function createJoiner(reach: Reach): (row: ProfileIndex) => Visit | null {
  const expected = new Map<string, { visit: Visit; until: number }>();
  const pages = new Map<string, { visit: Visit; at: number }>();
  const documents = new Map<string, { visit: Visit; at: number }>();
  const traced = new Map<string, Visit>();

  function pageOf({ clientAddress, dest, referrer, startedAt }: ProfileIndex): Visit | null {
    if (dest === null || dest === 'document') return null;
    const page =
      referrer === null ? documents.get(clientAddress) : pages.get(addressOf(clientAddress, referrer));
    const withinMs = referrer === null ? reach.guessed : reach.fetched;
    return page !== undefined && startedAt - page.at <= withinMs ? page.visit : null;
  }

  function joined(row: ProfileIndex): [Visit, 'redirects' | 'fetches' | 'calls'] | null {
    const caller =
      row.callerSpan === null ? undefined : traced.get(`${row.traceId} ${tokenInSpan(row.callerSpan)}`);
    if (caller !== undefined) return [caller, 'calls'];
    const address = addressOf(row.clientAddress, row.url);
    const redirect = expected.get(address);
    if (redirect !== undefined && row.startedAt <= redirect.until) {
      expected.delete(address);
      return [redirect.visit, 'redirects'];
    }
    const page = pageOf(row);
    return page === null ? null : [page, 'fetches'];
  }

  return (row) => {
    const found = row.kind === 'request' ? joined(row) : null;
    const visit = found?.[0] ?? { head: row, redirects: [], fetches: [], calls: [], alike: [] };
    if (row.traceId !== null) traced.set(`${row.traceId} ${row.token}`, visit);
    if (found !== null) found[0][found[1]].push(row);
    const { clientAddress, url, location, dest, startedAt, durationMs } = row;
    if (location !== null)
      expected.set(addressOf(clientAddress, location), {
        visit,
        until: startedAt + (durationMs ?? 0) + FOLLOWED_WITHIN,
      });
    if (dest === null || dest === 'document')
      pages.set(addressOf(clientAddress, url), { visit, at: startedAt });
    if (dest === 'document') documents.set(clientAddress, { visit, at: startedAt });
    return found === null ? visit : null;
  };
}

function isAlone({ redirects, fetches, calls, alike }: Visit): boolean {
  return redirects.length + fetches.length + calls.length + alike.length === 0;
}

/** A bad finding must not be hidden in a fold. */
function isBad({ marks }: ProfileIndex): boolean {
  return marks.some(({ severity }) => severity === 'bad');
}

function identityOf(visit: Visit): string | null {
  const { kind, method, url, status, error, state, mark } = visit.head;
  const bad = isBad(visit.head) ? mark : null;
  return isAlone(visit) ? `${kind}\n${method}\n${url}\n${status}\n${error}\n${state}\n${bad}` : null;
}

function foldRuns(visits: readonly Visit[]): Visit[] {
  const runs: Visit[][] = [];
  let before: string | null = null;
  for (const visit of visits) {
    const identity = identityOf(visit);
    if (identity !== null && identity === before) runs.at(-1)?.push(visit);
    else runs.push([visit]);
    before = identity;
  }
  return runs.flatMap((run) => {
    const [first, ...others] = run;
    return first === undefined || run.length < SHORTEST_RUN
      ? run
      : [{ ...first, alike: others.map(({ head }) => head) }];
  });
}

function polledIn(visits: readonly Visit[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const visit of visits) {
    const identity = identityOf(visit);
    if (identity !== null) counts.set(identity, (counts.get(identity) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, count]) => count >= POLLED).map(([identity]) => identity));
}

function foldPolled(visits: readonly Visit[], polled: ReadonlySet<string>): Visit[] {
  const newest = new Map<string, Visit>();
  const folded: Visit[] = [];
  for (const visit of visits) {
    const identity = identityOf(visit);
    const first = identity === null ? undefined : newest.get(identity);
    if (first !== undefined) {
      first.alike.push(visit.head);
      continue;
    }
    folded.push(visit);
    if (identity !== null && polled.has(identity)) newest.set(identity, visit);
  }
  return folded;
}

function isCallOf(row: ProfileIndex, caller: ProfileIndex): boolean {
  return (
    row.callerSpan !== null && row.traceId === caller.traceId && tokenInSpan(row.callerSpan) === caller.token
  );
}

/** Oldest first; a request that was made within the same millisecond follows the one that made it. */
function inOrder(rows: readonly ProfileIndex[]): ProfileIndex[] {
  return [...rows]
    .reverse()
    .sort((a, b) => a.startedAt - b.startedAt || Number(isCallOf(a, b)) - Number(isCallOf(b, a)));
}

function joinVisits(rows: readonly ProfileIndex[]): Visit[] {
  const join = createJoiner({ fetched: FETCHED_WITHIN, guessed: GUESSED_WITHIN });
  const visits: Visit[] = [];
  for (const row of inOrder(rows)) {
    const visit = join(row);
    if (visit !== null) visits.push(visit);
  }
  return visits.reverse();
}

/**
 * The first `most` visits, and how many rows they take up. `rows` and visits are sorted newest first. What follows stands on the
 * next page, also what is identical to a visit of this one.
 */
export function foldVisits(rows: readonly ProfileIndex[], most = Infinity): VisitsPage {
  const polled = polledIn(joinVisits(rows));
  const fold = (of: readonly ProfileIndex[]): Visit[] => foldRuns(foldPolled(joinVisits(of), polled));
  const visits = fold(rows);
  let listed = 0;
  const next = visits.find((visit, index) => {
    const { redirects, fetches, calls, alike } = visit;
    listed +=
      1 +
      redirects.length +
      fetches.length +
      Math.min(calls.length, MOST_CALLS) +
      Math.min(alike.length, MOST_ALIKE);
    return index > 0 && (index === most || listed > ROWS_PER_VISIT * most);
  });
  if (next === undefined) return { rows: rows.length, visits };
  const count = rows.indexOf(next.head);
  return { rows: count, visits: fold(rows.slice(0, count)) };
}

/** All requests of a page that may still be open, oldest first, redirects of its calls included, documents excluded. */
export function fetchesOf(page: ProfileIndex, rows: readonly ProfileIndex[]): ProfileIndex[] {
  const join = createJoiner({ fetched: Infinity, guessed: Infinity });
  const visit = join({ ...page, dest: 'document' });
  for (const row of [...rows].reverse())
    if (row.token !== page.token && row.startedAt >= page.startedAt) join(row);
  const followed = visit?.redirects.filter(({ dest }) => dest !== null && dest !== 'document') ?? [];
  return [...(visit?.fetches ?? []), ...followed].sort((a, b) => a.startedAt - b.startedAt);
}

export function unfolded(rows: readonly ProfileIndex[]): Visit[] {
  return rows.map((head) => ({ head, redirects: [], fetches: [], calls: [], alike: [] }));
}
