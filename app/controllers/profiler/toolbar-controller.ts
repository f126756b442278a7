/**
 * What the toolbar asks for: all of one request, the calls of its page, and, for a front end of another origin, the calls that
 * its pages make. Read like any page; nothing is changed by it.
 */
import { createError } from '../../errors.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { readOne } from './filters.ts';
import { findCallsFrom, findPageCalls, pageRowOf } from './page-calls.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { findCameFrom } from './redirects.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, JSON_TYPE } from './respond.ts';
import { findRevalidated } from './revalidated.ts';
import { createToolbarModel } from './toolbar-model.ts';

export interface ToolbarController {
  toolbarJson: PageAction;
  callsJson: PageAction;
  /** Without a page of ours. */
  originCalls: PageAction;
}

/** Milliseconds looked back where a front end does not say since when. */
const LOOK_BACK_MS = 60_000;

/** Null where it is not given. */
function readMs({ query }: PageRequest, name: string, problem: string): number | null {
  const text = readOne(query, name);
  if (text === null || text === '') return null;
  if (!/^\d{1,15}(?:\.\d{1,6})?$/.test(text)) throw createError('BAD_FILTER', [name, problem]);
  return Number(text);
}

/** Milliseconds since 1970. */
function readSince(page: PageRequest): number | null {
  return readMs(page, 'since', 'is no moment in milliseconds since 1970');
}

export function createToolbarController(services: PageServices): ToolbarController {
  const { profiles, panels, rules = {}, frontEnds } = services;
  const respond = createRespond(services);

  /** Looked up each time, since any process may have cleared it; its document is read only where it has no row to be found by. */
  async function pageOf(page: PageRequest): Promise<ProfileIndex> {
    const token = page.params.token ?? '';
    const { rows } = await profiles.find({ token, limit: 1, offset: 0, counted: false });
    return rows[0] ?? pageRowOf((await requireProfile(services, page)).profile);
  }

  function json(page: PageRequest, value: object): void {
    respond(page, { type: JSON_TYPE, body: JSON.stringify(value) });
  }

  /** The request that is meant by a page from the cache that was found to be still good; null where none is. */
  async function findMeant(page: PageRequest, now: number): Promise<FoundProfile | null> {
    const agoMs = readMs(page, 'revalidated', 'is no number of milliseconds');
    if (agoMs === null) return null;
    const [url, clientAddress] = [readOne(page.query, 'url') ?? '', page.client()];
    const token = await findRevalidated(profiles, { url, clientAddress, at: now - agoMs });
    return token === null ? null : profiles.read(token);
  }

  return {
    async toolbarJson(page) {
      const now = Date.now();
      const found = (await findMeant(page, now)) ?? (await requireProfile(services, page));
      const { profile, amendments } = found;
      const [cameFrom, { calls, moreCalls }] = await Promise.all([
        findCameFrom(profiles, profile),
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
