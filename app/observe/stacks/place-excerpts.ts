/**
 * Source around a place in own code, such as `src/orders/order-view.ts:41`: from the source map of the file that ran, else by
 * source-files.ts, which decides what may be read. Cached briefly, since a busy route needs the same line again.
 */
import { isAbsolute, resolve } from 'node:path';
import { truncateText } from '../../profiler/record/plain.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';

const LONGEST_LINE = 200;
const REMEMBERED_MS = 2000;
const MOST_REMEMBERED = 200;

export function excerptOf(
  lines: readonly string[],
  line: number,
  { before, after, longest = LONGEST_LINE }: { before: number; after: number; longest?: number },
): SourceExcerpt | null {
  if (line < 1 || line > lines.length) return null;
  const from = Math.max(1, line - before);
  return { from, lines: lines.slice(from - 1, line + after).map((text) => truncateText(text, longest)) };
}

/** null for a place outside the root, in a library, or unreadable. */
export function createPlaceExcerpts(options: {
  root: string;
  files: Pick<SourceFiles, 'lines'>;
  maps?: Pick<SourceMaps, 'sourceLines'>;
  before?: number;
  after?: number;
}): (place: string) => SourceExcerpt | null {
  const { root, files, maps, before = 3, after = 2 } = options;
  const known = new Map<string, { at: number; excerpt: SourceExcerpt | null }>();

  function read(place: string): SourceExcerpt | null {
    const [, file = '', number = ''] = /^(.+):(\d+)$/.exec(place) ?? [];
    if (file === '' || isAbsolute(file) || /(?:^|\/)(?:node_modules|\.\.)\//.test(file)) return null;
    const path = resolve(root, file);
    const lines = maps?.sourceLines(path) ?? files.lines(path);
    return lines === null ? null : excerptOf(lines, Number(number), { before, after });
  }

  return (place) => {
    const now = performance.now();
    const earlier = known.get(place);
    if (earlier !== undefined && now - earlier.at < REMEMBERED_MS) return earlier.excerpt;
    const excerpt = read(place);
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(place, { at: now, excerpt });
    return excerpt;
  };
}
