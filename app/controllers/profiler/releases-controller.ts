/** The routes that became worse with a release, as page, JSON or Markdown. */
import type { ReleaseSummary } from '../../profiler/release-summary.ts';
import { compareReleases, type ReleaseComparison } from './release-comparison.ts';
import { jsonForm } from './json-form.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { releasesMarkdown } from './releases-markdown.ts';
import { createReleasesModel } from './releases-model.ts';
import { createRespond, HTML, JSON_TYPE, MARKDOWN_TYPE } from './respond.ts';
import { messageOf } from '../../errors.ts';

export function createReleasesController(
  services: PageServices,
): Record<'releases' | 'releasesJson' | 'releasesMarkdown', PageAction> {
  const { profiles, renderPage, foot } = services;
  const respond = createRespond(services);

  async function compare({ query }: PageRequest): Promise<ReleaseComparison> {
    return compareReleases(await profiles.summarizeReleases({}), query);
  }

  /** A failed storage is a notice on the page, not an error page. */
  async function summarize(): Promise<{ summaries: ReleaseSummary[]; notice: string | null }> {
    try {
      return { summaries: await profiles.summarizeReleases({}), notice: null };
    } catch (error) {
      return { summaries: [], notice: messageOf(error) };
    }
  }

  return {
    async releases(page) {
      const { summaries, notice } = await summarize();
      const comparison = compareReleases(summaries, notice === null ? page.query : new URLSearchParams());
      const model = createReleasesModel({ comparison, summaries, notice, foot });
      respond(page, { type: HTML, body: renderPage('profiler/releases', model) });
    },
    async releasesJson(page) {
      respond(page, { type: JSON_TYPE, body: jsonForm('releases', await compare(page)) });
    },
    async releasesMarkdown(page) {
      respond(page, { type: MARKDOWN_TYPE, body: releasesMarkdown(await compare(page)) });
    },
  };
}
