/** One profile: its page, the body of its exception panel, the toolbar fragment. */
import { createError } from '../../errors.ts';
import type { Panel } from '../../profiler/panel.ts';
import { childrenOf, enoughTimes, readBeside } from './beside-profile.ts';
import { readPanelName } from './list/filters.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelShown } from './panel-shown.ts';
import { cpuFormOf } from './cpu-form.ts';
import { defaultPanel, droppedTexts, menuOf, OVERVIEW, readShown, titleOf } from './profile-model.ts';
import { replayMarkOf } from './replay/replay-profile.ts';
import { findRedirects } from './redirects.ts';
import { createUnknownTokenError, requireProfile } from './require-profile.ts';
import { readCalled, readTraceAround } from './trace-around.ts';
import { readValuesForm } from './values-form.ts';
import { createAnswers } from './respond.ts';
import { TOKEN_PATTERN, urls } from '../../urls.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { Profile } from '../../profiler/profile.ts';
import { pathsOf } from '../../profiler/record/route-in-full.ts';
import type { ProfileQuery } from '../../profiler/store/storage.ts';

const SECOND = 1000;

async function readSummary(
  { profiles, routeInFull }: Pick<PageServices, 'profiles' | 'routeInFull'>,
  { kind, summary, startedAt, process, method, route }: Profile,
) {
  if (kind !== 'request' || summary === null) return null;
  const from = Math.floor(startedAt / SECOND) * SECOND;
  const until = from + SECOND;
  const countOf = async (query: Pick<ProfileQuery, 'isFull'>): Promise<number> =>
    (await profiles.find({ process, from, until, ...query, limit: 1 })).total;
  const [count, full] = await Promise.all([countOf({}), countOf({ isFull: true }), routeInFull.refresh()]);
  const canStart = route !== null && pathsOf(route) !== null;
  return {
    count,
    full,
    href: urls.search({
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      process,
    }),
    form: canStart ? { route: `${method} ${route}`, until: routeInFull.until({ method, route }) } : null,
  };
}

const WINDOW = 50;

export function createProfileController(
  services: PageServices,
): Record<'profile' | 'noToken' | 'exception' | 'toolbar' | 'newer' | 'older', PageAction> {
  const { profiles, recording, forms, cpu } = services;
  const { html, redirect } = createAnswers(services);

  async function rowsFrom(startedAt: number, isOlder: boolean): Promise<readonly ProfileIndex[]> {
    const side = isOlder ? { until: startedAt + 1 } : { from: startedAt };
    const { rows } = await profiles.find({ ...side, descending: isOlder, limit: WINDOW });
    // Storages order requests of the same millisecond differently.
    const sign = isOlder ? -1 : 1;
    return rows.toSorted((a, b) => sign * (a.startedAt - b.startedAt || (a.token < b.token ? -1 : 1)));
  }

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

  return {
    newer: leadTo(false),
    older: leadTo(true),
    async profile(page) {
      const wanted = readPanelName(page.query);
      const token = page.params.token ?? '';
      const found = await profiles.read(token);
      if (found === null && profiles.isUnrecorded(token)) {
        const model = { title: `${token}: not recorded`, token, pausedAt: recording.pausedAt() };
        await html(page, 'profiler/not-recorded', model);
        return;
      }
      if (found === null) throw await createUnknownTokenError(services, token);
      const shown = await readShown(services, found);
      const { profile, amendments, panels, findings } = shown;
      const name = wanted ?? defaultPanel(profile, panels);
      const panel = panels.find((listed) => listed.name === name);
      if (panel === undefined) throw createError('UNKNOWN_PANEL', [name, profile.token]);
      const around = readTraceAround(services, profile);
      const [children, routePercentiles, redirects, csrf, beside, { caller }, called, summary, valuesForm] =
        await Promise.all([
          childrenOf(services, profile),
          profiles.routePercentiles(profile),
          findRedirects(profiles, profile),
          forms.sign(),
          panel.name === OVERVIEW ? readBeside(services, shown) : undefined,
          around,
          panel.view?.showsCalled ? around.then((trace) => readCalled(services, profile, trace)) : undefined,
          panel.name === OVERVIEW ? readSummary(services, profile) : null,
          panel.name === 'exception' ? readValuesForm(services, found) : null,
        ]);
      const cpuForm = cpuFormOf(profile, cpu);
      const query = Object.assign(
        Object.create(null) as Record<string, string>,
        Object.fromEntries(page.query),
      );
      await html(page, 'profiler/profile', {
        profile,
        amendments,
        csrf,
        children,
        redirects,
        panel,
        caller,
        summary,
        valuesForm,
        title: titleOf(profile, panel),
        canReplay: services.replay !== 'off' && profile.kind === 'request' && profile.state === 'final',
        canSample: cpuForm !== null,
        repeats: replayMarkOf(amendments)?.of ?? null,
        routeTimes: enoughTimes(routePercentiles),
        cpuForm: panel.name === 'cpu' ? cpuForm : null,
        explainForm: panel.name === 'database' ? (services.explain?.formOf(profile) ?? null) : null,
        shown: panelShown(panel, { profile, query, amendments, beside, called }),
        dropped: droppedTexts(profile.dropped, panels, panel),
        menu: menuOf(profile, panels),
        findings,
        query,
        kind: panel.view?.kind ?? null,
      });
    },
    /** An address that looks like a token and is none: in capitals, or with a character too many. */
    async noToken(page) {
      const token = page.params.token ?? '';
      const lower = token.toLowerCase();
      if (!TOKEN_PATTERN.test(lower)) throw await createUnknownTokenError(services, token);
      redirect(page, urls.profile(lower, readPanelName(page.query) ?? undefined));
    },
    async exception(page) {
      const { profile, amendments } = await requireProfile(services, page);
      const fallback: Panel = { name: 'exception', title: 'Exception', collect: () => null };
      const panel = services.panels.find(({ name }) => name === 'exception') ?? fallback;
      const query = Object.fromEntries(page.query);
      await html(page, 'partials/panel-body', panelShown(panel, { profile, query, amendments }));
    },
    async toolbar(page) {
      const { profile } = await requireProfile(services, page);
      await html(page, 'profiler/toolbar', { profile });
    },
  };
}
