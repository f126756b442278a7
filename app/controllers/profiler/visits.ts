/**
 * Requests -> visits: what a browser did at one go is one row, with the rest folded under it.
 *
 * Nothing says that two requests belong together; it is worked out from what does: a redirect's Location and the next request of the
 * same client for that address; the referrer of a subresource and the latest request of the same client for that page, or, where the
 * browser names no referrer, the latest document of the same client; the same line again and again. Two people behind one address who open the same page at the same time are taken for one.
 */
import type { ProfileIndex } from '../../profiler/profile-index.ts';

export interface Visit {
  head: ProfileIndex;
  /** Where its redirects led, in their order. */
  redirects: ProfileIndex[];
  /** What its page asked for by itself, in order. */
  fetches: ProfileIndex[];
  /** The same request before it, the newest first. */
  alike: ProfileIndex[];
}

/** Milliseconds after a redirect's answer in which it is followed. */
export const FOLLOWED_WITHIN = 10_000;
/** Milliseconds after a page began in which what it asks for counts as its own. */
const FETCHED_WITHIN = 60_000;
/** The same, where nothing says which page asked. */
const GUESSED_WITHIN = 10_000;
/** Fewer requests in a row than this are no run. */
const SHORTEST_RUN = 3;

function addressOf(clientAddress: string, url: string): string {
  return `${clientAddress}\n${url}`;
}

/** How long after a page began what it asks for counts as its own, in milliseconds. */
interface Reach {
  fetched: number;
  guessed: number;
}

function createJoiner(reach: Reach): (row: ProfileIndex) => Visit | null {
  const expected = new Map<string, { visit: Visit; until: number }>();
  const pages = new Map<string, { visit: Visit; at: number }>();
  /** The latest document of each client. */
  const documents = new Map<string, { visit: Visit; at: number }>();

  /** The visit whose page asked for a subresource. */
  function pageOf({ clientAddress, dest, referrer, startedAt }: ProfileIndex): Visit | null {
    if (dest === null || dest === 'document') return null;
    const page =
      referrer === null ? documents.get(clientAddress) : pages.get(addressOf(clientAddress, referrer));
    const withinMs = referrer === null ? reach.guessed : reach.fetched;
    return page !== undefined && startedAt - page.at <= withinMs ? page.visit : null;
  }

  function joined(row: ProfileIndex): [Visit, 'redirects' | 'fetches'] | null {
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
    const visit = found?.[0] ?? { head: row, redirects: [], fetches: [], alike: [] };
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

function isAlone({ redirects, fetches }: Visit): boolean {
  return redirects.length === 0 && fetches.length === 0;
}

/** Something is wrong with it that must not be hidden in a fold. */
function isBad({ marks }: ProfileIndex): boolean {
  return marks.some(({ severity }) => severity === 'bad');
}

function isAlike(a: Visit, b: Visit): boolean {
  const [one, other] = [a.head, b.head];
  return (
    isAlone(a) &&
    isAlone(b) &&
    one.kind === other.kind &&
    one.method === other.method &&
    one.url === other.url &&
    one.status === other.status &&
    one.error === other.error &&
    (one.mark === other.mark || !(isBad(one) || isBad(other))) &&
    one.state === other.state
  );
}

function foldRuns(visits: readonly Visit[]): Visit[] {
  const folded: Visit[] = [];
  for (let at = 0; at < visits.length;) {
    const [first, ...rest] = visits.slice(at);
    if (first === undefined) break;
    const end = rest.findIndex((visit) => !isAlike(first, visit));
    const run = rest.slice(0, end === -1 ? rest.length : end);
    const isRun = run.length + 1 >= SHORTEST_RUN;
    folded.push(isRun ? { ...first, alike: run.map(({ head }) => head) } : first);
    at += isRun ? run.length + 1 : 1;
  }
  return folded;
}

/** `rows`: newest first, as are the visits, by their first request. */
export function foldVisits(rows: readonly ProfileIndex[]): Visit[] {
  const join = createJoiner({ fetched: FETCHED_WITHIN, guessed: GUESSED_WITHIN });
  const visits: Visit[] = [];
  for (const row of [...rows].reverse()) {
    const visit = join(row);
    if (visit !== null) visits.push(visit);
  }
  return foldRuns(visits.reverse());
}

/**
 * What a page that is still open asked for, oldest first, whenever that was, among `rows` (newest first): with what its
 * calls were redirected to, without documents that it led to.
 */
export function fetchesOf(page: ProfileIndex, rows: readonly ProfileIndex[]): ProfileIndex[] {
  const join = createJoiner({ fetched: Infinity, guessed: Infinity });
  const visit = join({ ...page, dest: 'document' });
  for (const row of [...rows].reverse())
    if (row.token !== page.token && row.startedAt >= page.startedAt) join(row);
  const followed = visit?.redirects.filter(({ dest }) => dest !== null && dest !== 'document') ?? [];
  return [...(visit?.fetches ?? []), ...followed].sort((a, b) => a.startedAt - b.startedAt);
}

/** Each row by itself, for an order in which neighbours have nothing to do with each other. */
export function unfolded(rows: readonly ProfileIndex[]): Visit[] {
  return rows.map((head) => ({ head, redirects: [], fetches: [], alike: [] }));
}
