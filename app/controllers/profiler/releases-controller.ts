/** `/_profiler/releases.json` and `.md`: the routes that became worse with a release. */
import { compareReleases, type ReleaseComparison } from './release-comparison.ts';
import { jsonForm } from './json-form.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { releasesMarkdown } from './releases-markdown.ts';
import { createRespond, JSON_TYPE, MARKDOWN_TYPE } from './respond.ts';

export function createReleasesController(
  services: PageServices,
): Record<'releasesJson' | 'releasesMarkdown', PageAction> {
  const respond = createRespond(services);

  async function compare({ query }: PageRequest): Promise<ReleaseComparison> {
    return compareReleases(await services.profiles.summarizeReleases({}), query);
  }

  return {
    async releasesJson(page) {
      respond(page, { type: JSON_TYPE, body: jsonForm('releases', await compare(page)) });
    },
    async releasesMarkdown(page) {
      respond(page, { type: MARKDOWN_TYPE, body: releasesMarkdown(await compare(page)) });
    },
  };
}
