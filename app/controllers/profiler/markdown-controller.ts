/** `/_profiler/<token>.md`: a profile as Markdown, or one panel of it with `?panel=`. */
import { createError } from '../../errors.ts';
import { readOne } from './filters.ts';
import { createFindingsModel } from './findings-model.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelsOf } from './profile-model.ts';
import { profileMarkdown } from './profile-markdown.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, MARKDOWN_TYPE } from './respond.ts';

export function createMarkdownController(services: PageServices): { markdown: PageAction } {
  const respond = createRespond(services);
  return {
    async markdown(page) {
      const name = readOne(page.query, 'panel');
      const { profile, amendments } = await requireProfile(services, page);
      const all = panelsOf(profile, services.panels);
      const panels = name === null ? all : all.filter((panel) => panel.name === name);
      if (panels.length === 0) throw createError('UNKNOWN_PANEL', [name ?? '', profile.token]);
      const body = profileMarkdown({
        profile,
        findings: createFindingsModel(profile, services.rules ?? {}, amendments),
        amendments,
        panels,
        allPanels: all,
      });
      respond(page, { type: MARKDOWN_TYPE, body });
    },
  };
}
