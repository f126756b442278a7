/** What the toolbar reads: one request, the calls of its page, and the calls of a front end of another origin. */
import { createError } from '../../errors.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { FoundProfile, Profiles } from '../../profiler/read/profiles.ts';
import { readOne } from './list/filters.ts';
import { findCallsFrom, findPageCalls, pageRowOf } from './page-calls.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { findCameFrom } from './redirects.ts';
import { requireProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';
import { createToolbarModel, type RedirectStep } from './toolbar-model.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { pathOf } from '../../profiler/request-target.ts';

/** Milliseconds between the browser's time of the request and the server's: clock difference, a busy server, a slow lookup. */
const WITHIN = 5000;
const MOST_ROWS = 200;

interface Revalidated {
  url: string;
  clientAddress: string;
  at: number;
}

async function findRevalidated(
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

const LOOK_BACK_MS = 60_000;

function readMs({ query }: PageRequest, name: string): number | null {
  const text = readOne(query, name);
  if (text === null || text === '') return null;
  if (!/^\d{1,15}(?:\.\d{1,6})?$/.test(text))
    throw createError('BAD_FILTER', [name, 'must be a number of milliseconds']);
  return Number(text);
}

export function createToolbarController(
  services: PageServices,
): Record<'toolbarJson' | 'callsJson' | 'originCalls', PageAction> {
  const { profiles, panels, rules, frontEnds } = services;
  const { json } = createAnswers(services);

  /** Looked up each time, because any process may have deleted it. The document is read only if there is no index row. */
  async function pageOf(page: PageRequest): Promise<ProfileIndex> {
    const token = page.params.token ?? '';
    const { rows } = await profiles.find({ token, limit: 1, counted: false });
    return rows[0] ?? pageRowOf((await requireProfile(services, page)).profile);
  }

  /** The 304 of a page that the browser shows from its cache; null if there is none. */
  async function findCached(page: PageRequest, now: number): Promise<FoundProfile | null> {
    const agoMs = readMs(page, 'revalidated');
    if (agoMs === null) return null;
    const [url, clientAddress] = [readOne(page.query, 'url') ?? '', page.client()];
    const token = await findRevalidated(profiles, { url, clientAddress, at: now - agoMs });
    return token === null ? null : profiles.read(token);
  }

  /** The redirects that led to a page; what was wrong with them would be seen by nobody else. */
  async function stepsTo(profile: Profile): Promise<RedirectStep[]> {
    const rows = await findCameFrom(profiles, profile);
    return Promise.all(rows.map(async (row) => ({ row, found: await profiles.read(row.token) })));
  }

  return {
    async toolbarJson(page) {
      const now = Date.now();
      const found = (await findCached(page, now)) ?? (await requireProfile(services, page));
      const { profile, amendments } = found;
      const [cameFrom, { calls, moreCalls }] = await Promise.all([
        stepsTo(profile),
        findPageCalls(profiles, pageRowOf(profile)),
      ]);
      json(
        page,
        createToolbarModel({
          profile,
          amendments,
          panels,
          rules,
          cameFrom,
          calls: { calls, moreCalls },
        }),
      );
    },
    async callsJson(page) {
      json(page, { ...(await findPageCalls(profiles, await pageOf(page))), now: Date.now() });
    },
    async originCalls(page) {
      const now = Date.now();
      const { origin } = page.req.headers;
      if (origin === undefined || !frontEnds.has(origin)) throw createError('CROSS_SITE', []);
      const since = now - (readMs(page, 'age') ?? LOOK_BACK_MS);
      const clientAddress = page.client();
      json(page, { ...(await findCallsFrom(profiles, { origin, clientAddress, since })), now });
    },
  };
}
