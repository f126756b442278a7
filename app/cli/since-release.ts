/** `why --since-release`: which routes became worse with a release, for a person, a script or a pull request. */
import { urls } from '../urls.ts';
import { type Client, CommandError, FAILED } from './client.ts';
import { printableJson, printableText } from './print.ts';

export const RELEASE_FORMATS = ['text', 'markdown', 'json'] as const;
export type ReleaseFormat = (typeof RELEASE_FORMATS)[number];

/** Exit code if a route became worse. */
const WORSE = 1;

/** What is read of `releases.json`. */
interface Releases {
  release: string | null;
  before: string | null;
  compared: number;
  routes: readonly {
    method: string;
    route: string;
    worse: readonly { text: string }[];
    after: { newest: string };
  }[];
}

function textOf({ release, before, compared, routes }: Releases): string {
  const lines = routes.flatMap(({ method, route, worse, after }) =>
    worse.map(({ text }) => `${method} ${route} ${text}: ${after.newest}`),
  );
  const verdict = `${routes.length} of ${compared} routes became worse with release ${String(release)} (before: ${String(before)}).`;
  return `${[...lines, verdict].join('\n')}\n`;
}

/** `since`: the earlier release; undefined: the one before the newest. Throws a CommandError if a route became worse. */
export async function sinceRelease(
  client: Client,
  since: string | undefined,
  { format, write }: { format: ReleaseFormat; write: (text: string) => void },
): Promise<void> {
  const found = (await client.json(urls.releasesJson({ since }))) as Releases;
  if (found.release === null) throw new CommandError('No recorded request has a release.', FAILED);
  if (found.before === null || found.before === found.release)
    throw new CommandError(
      `Only the release ${found.release} was recorded: there is none to compare.`,
      FAILED,
    );
  if (format === 'json') write(printableJson(found));
  else if (format === 'text') write(printableText(textOf(found)));
  else write(printableText(await client.text(urls.releasesMarkdown({ since }))));
  const worse = found.routes.length;
  if (worse > 0) throw new CommandError(`${worse} ${worse === 1 ? 'route' : 'routes'} became worse.`, WORSE);
}
