/** Which request it was that a browser found its kept page to be still good by (304): the page has the token of an earlier one. */
import type { Profiles } from '../../profiler/profiles.ts';

/** Milliseconds between the moment that the browser names and that of the request: clocks, a busy server, a slow question. */
const WITHIN = 5000;
const MOST_ROWS = 200;

export interface Revalidated {
  /** From the root, with its query. */
  url: string;
  clientAddress: string;
  /** Milliseconds since 1970, by the clock of the server, as well as the browser could tell. */
  at: number;
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

/** The nearest to that moment; null where there is none. A value in the query may be masked in one of the two only. */
export async function findRevalidated(
  profiles: Pick<Profiles, 'find'>,
  { url, clientAddress, at }: Revalidated,
): Promise<string | null> {
  const path = pathOf(url);
  const { rows } = await profiles.find({
    clientAddress,
    method: 'GET',
    status: 304,
    url: path,
    from: at - WITHIN,
    until: at + WITHIN,
    limit: MOST_ROWS,
    offset: 0,
    counted: false,
  });
  const pages = rows.filter(
    (row) => pathOf(row.url) === path && (row.dest === null || row.dest === 'document'),
  );
  const same = pages.filter((row) => row.url === url);
  const [nearest] = (same.length > 0 ? same : pages).sort(
    (one, other) => Math.abs(one.startedAt - at) - Math.abs(other.startedAt - at),
  );
  return nearest?.token ?? null;
}
