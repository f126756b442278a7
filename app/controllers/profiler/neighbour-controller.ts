/** `/_profiler/<token>/newer` and `/older` redirect to the next or previous request; looked up only when followed. */
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import { urls } from '../../urls.ts';
import { readPanelName } from './filters.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { requireProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';

/** Requests that may have started in the same millisecond. */
const WINDOW = 50;

export function createNeighbourController(services: PageServices): Record<'newer' | 'older', PageAction> {
  const { profiles } = services;
  const { redirect } = createAnswers(services);

  async function rowsFrom(startedAt: number, isOlder: boolean): Promise<readonly ProfileIndex[]> {
    const side = isOlder ? { until: startedAt + 1 } : { from: startedAt };
    const { rows } = await profiles.find({
      ...side,
      sort: 'startedAt',
      descending: isOlder,
      limit: WINDOW,
      offset: 0,
    });
    // Storages order requests of the same millisecond differently.
    const sign = isOlder ? -1 : 1;
    return rows.toSorted((a, b) => sign * (a.startedAt - b.startedAt || (a.token < b.token ? -1 : 1)));
  }

  /** At either end it stays on the same profile. */
  function leadTo(isOlder: boolean): PageAction {
    return async (page) => {
      const panel = readPanelName(page.query) ?? undefined;
      const { profile } = await requireProfile(services, page);
      const rows = await rowsFrom(profile.startedAt, isOlder);
      const here = rows.findIndex(({ token }) => token === profile.token);
      const next =
        here === -1 ? rows.find(({ startedAt }) => startedAt !== profile.startedAt) : rows[here + 1];
      redirect(page, urls.profile(next?.token ?? profile.token, panel));
    };
  }

  return { newer: leadTo(false), older: leadTo(true) };
}
