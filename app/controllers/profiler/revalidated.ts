/** Finds the 304 by which a browser revalidated its cached page: that page carries the token of an earlier request. */
import type { Profiles } from '../../profiler/profiles.ts';
import { isMasked } from '../../profiler/redact.ts';
import { pathOf } from '../../profiler/request-target.ts';

/** Milliseconds between the browser's time of the request and the server's: clock difference, a busy server, a slow lookup. */
const WITHIN = 5000;
const MOST_ROWS = 200;

export interface Revalidated {
  /** Path with query. */
  url: string;
  clientAddress: string;
  /** Milliseconds since 1970, by the server's clock as estimated by the browser. */
  at: number;
}

/** The token of the closest one; null if there is none. The query may be masked in only one of the two. */
export async function findRevalidated(
  profiles: Pick<Profiles, 'find'>,
  { url, clientAddress, at }: Revalidated,
): Promise<string | null> {
  const path = pathOf(url);
  const { rows } = await profiles.find({
    clientAddress,
    method: 'GET',
    status: [{ from: 304, to: 304 }],
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
  // A masked address has the number of its mark only in the row.
  const same = pages.filter((row) =>
    isMasked(row.url) ? url !== path && row.url.startsWith(url) : row.url === url,
  );
  const [nearest] = (same.length > 0 ? same : pages).sort(
    (one, other) => Math.abs(one.startedAt - at) - Math.abs(other.startedAt - at),
  );
  return nearest?.token ?? null;
}
