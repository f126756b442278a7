/** `/_profiler/<token>.json`: a profile as JSON, or one panel of it with `?panel=`: its data, and the rows that its page shows. */
import { createError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { OVERVIEW, readBeside } from './beside-profile.ts';
import { childrenOf } from './children-of.ts';
import { readPanelName } from './filters.ts';
import { withHistory } from './finding-history.ts';
import { jsonForm } from './json-form.ts';
import { jsonPanels } from './json-panels.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelsOf } from './profile-model.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, JSON_TYPE } from './respond.ts';

const NOT_RECORDED = { data: null, summary: null, error: null };

export function createJsonController(services: PageServices): { json: PageAction } {
  const respond = createRespond(services);

  async function profileJson({ profile, amendments, source }: FoundProfile): Promise<string> {
    const children = await childrenOf(services, profile);
    const whole = { ...profile, panels: jsonPanels(profile.panels) };
    return jsonForm('profile', { source, profile: whole, amendments, children });
  }

  async function panelJson(name: string, { profile, amendments }: FoundProfile): Promise<string> {
    const panel = panelsOf(profile, services.panels).find((one) => one.name === name);
    if (panel === undefined) throw createError('UNKNOWN_PANEL', [name, profile.token]);
    const beside = name === OVERVIEW ? await readBeside(services, { profile, amendments }) : undefined;
    const { figures = [], sections = [] } = presentPanel(panel, { profile, amendments, beside }) ?? {};
    const { [name]: record } = jsonPanels({ [name]: profile.panels[name] ?? NOT_RECORDED });
    return jsonForm('panel', {
      token: profile.token,
      panel: name,
      title: panel.title,
      ...record,
      figures,
      sections,
    });
  }

  return {
    async json(page) {
      const name = readPanelName(page.query);
      const read = await requireProfile(services, page);
      const found = { ...read, profile: await withHistory(services, read.profile) };
      const body = await (name === null ? profileJson(found) : panelJson(name, found));
      respond(page, { type: JSON_TYPE, body });
    },
  };
}
