/** `/_profiler/<token>.md`: a profile as Markdown, one panel of it with `?panel=`, or the short form with `?length=short`. */
import { createError } from '../../errors.ts';
import { OVERVIEW, readBeside } from './beside-profile.ts';
import { cutMarkdown } from './cut-markdown.ts';
import { readOne, readPanelName } from './filters.ts';
import { withHistory } from './finding-history.ts';
import { createFindingsModel } from './findings-model.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelsOf } from './profile-model.ts';
import { profileMarkdown } from './profile-markdown.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, MARKDOWN_TYPE } from './respond.ts';
import { readShortMarkdown } from './short-markdown.ts';

/** Characters: more than an issue or a model takes. */
const LONGEST = 1024 * 1024;

export function createMarkdownController(services: PageServices): { markdown: PageAction } {
  const respond = createRespond(services);
  return {
    async markdown(page) {
      const name = readPanelName(page.query);
      const length = readOne(page.query, 'length');
      if (length !== null && length !== 'short')
        throw createError('BAD_FILTER', ['length', `is "${length}"; give short, or leave it out`]);
      const { amendments, ...found } = await requireProfile(services, page);
      const profile = await withHistory(services, found.profile);
      if (length === 'short' && name === null) {
        const body = await readShortMarkdown(services, { profile, amendments }, { origin: page.origin() });
        respond(page, { type: MARKDOWN_TYPE, body });
        return;
      }
      const all = panelsOf(profile, services.panels);
      const panels = name === null ? all : all.filter((panel) => panel.name === name);
      if (panels.length === 0) throw createError('UNKNOWN_PANEL', [name ?? '', profile.token]);
      const markdown = profileMarkdown({
        profile,
        findings: createFindingsModel(profile, services.rules ?? {}, amendments),
        amendments,
        panels,
        allPanels: all,
        beside: name === OVERVIEW ? await readBeside(services, { profile, amendments }) : undefined,
      });
      const body = cutMarkdown(markdown, LONGEST, 'Ask for one panel: `?panel=`.');
      respond(page, { type: MARKDOWN_TYPE, body });
    },
  };
}
