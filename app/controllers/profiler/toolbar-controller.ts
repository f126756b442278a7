/** What the toolbar reads: one request, the calls of its page, and the calls of a front end of another origin. */
import { createError } from '../../errors.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { readOne } from './filters.ts';
import { findCallsFrom, findPageCalls, pageRowOf } from './page-calls.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { findCameFrom } from './redirects.ts';
import { requireProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';
import { findRevalidated } from './revalidated.ts';
import { createToolbarModel, type RedirectStep } from './toolbar-model.ts';

/** Milliseconds to look back if a front end sends no `since`. */
const LOOK_BACK_MS = 60_000;

/** null if it is absent. */
function readMs({ query }: PageRequest, name: string, problem: string): number | null {
  const text = readOne(query, name);
  if (text === null || text === '') return null;
  if (!/^\d{1,15}(?:\.\d{1,6})?$/.test(text)) throw createError('BAD_FILTER', [name, problem]);
  return Number(text);
}

/** Milliseconds since 1970. */
function readSince(page: PageRequest): number | null {
  return readMs(page, 'since', 'must be a time in milliseconds since 1970');
}

export function createToolbarController(
  services: PageServices,
): Record<'toolbarJson' | 'callsJson' | 'originCalls', PageAction> {
  const { profiles, panels, rules = {}, frontEnds } = services;
  const { json } = createAnswers(services);

  /** Looked up each time, because any process may have deleted it. The document is read only if there is no index row. */
  async function pageOf(page: PageRequest): Promise<ProfileIndex> {
    const token = page.params.token ?? '';
    const { rows } = await profiles.find({ token, limit: 1, offset: 0, counted: false });
    return rows[0] ?? pageRowOf((await requireProfile(services, page)).profile);
  }

  /** The 304 of a page that the browser shows from its cache; null if there is none. */
  async function findCached(page: PageRequest, now: number): Promise<FoundProfile | null> {
    const agoMs = readMs(page, 'revalidated', 'must be a number of milliseconds');
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
        findPageCalls(profiles, pageRowOf(profile), null),
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
          now,
        }),
      );
    },
    async callsJson(page) {
      const now = Date.now();
      const since = readSince(page);
      json(page, { ...(await findPageCalls(profiles, await pageOf(page), since)), now });
    },
    /** Calls of a front end, without a page that the service sent. */
    async originCalls(page) {
      const now = Date.now();
      const { origin } = page.req.headers;
      if (origin === undefined || !frontEnds.has(origin)) throw createError('CROSS_SITE', []);
      const since = readSince(page) ?? now - LOOK_BACK_MS;
      const clientAddress = page.client();
      json(page, { ...(await findCallsFrom(profiles, { origin, clientAddress, since })), now });
    },
  };
}
