/** A profile as one file that opens without a server: `/_profiler/<token>.html`. */
import type { BesideProfile } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { OVERVIEW, readBeside } from './beside-profile.ts';
import { childrenOf } from './children-of.ts';
import { attachment } from './file-name.ts';
import { withHistory } from './finding-history.ts';
import { createFindingsModel } from './findings-model.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelShown } from './panel-shown.ts';
import { hasContent, menuOf, panelsOf } from './profile-model.ts';
import { replayMarkOf } from './replay-profile.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, HTML } from './respond.ts';
import { singleFile } from './single-file.ts';

export function createFileController(services: PageServices): Record<'file', PageAction> {
  const { renderPage, foot, rules = {}, assets } = services;
  const respond = createRespond(services);

  /** All panels that recorded something. */
  function renderBody(
    profile: Profile,
    amendments: FoundProfile['amendments'],
    { children, beside }: { children: readonly ProfileIndex[]; beside: BesideProfile | undefined },
  ): string {
    const all = panelsOf(profile, services.panels);
    const panels = all.filter(({ name }) => hasContent(profile, name));
    return renderPage('profiler/file', {
      profile,
      children,
      panel: panels.find(({ name }) => name === OVERVIEW),
      findings: createFindingsModel(profile, rules, amendments),
      menu: { ...menuOf(profile, panels), empty: [] },
      panels: panels.map((panel) =>
        panelShown(panel, {
          profile,
          amendments,
          query: { all: '1' },
          ...(panel.name === OVERVIEW ? { beside } : {}),
        }),
      ),
      repeats: replayMarkOf(amendments)?.of ?? null,
      foot,
    });
  }

  return {
    async file(page) {
      const { token = '' } = page.params;
      const found = await requireProfile(services, page);
      const profile = await withHistory(services, found.profile);
      const { amendments } = found;
      const [children, beside] = await Promise.all([
        childrenOf(services, profile),
        readBeside(services, { profile, amendments }),
      ]);
      const { html, policy } = singleFile({
        token,
        title: `${profile.method} ${profile.url}: ${profile.status ?? 'no response'} · Hindsight`,
        body: renderBody(profile, amendments, { children, beside }),
        css: assets.plain('hindsight.css').body.toString(),
      });
      const headers = {
        ...attachment(profile, 'html'),
        'content-security-policy': `${policy}; frame-ancestors 'none'; sandbox`,
      };
      respond(page, { type: HTML, body: html, headers });
    },
  };
}
