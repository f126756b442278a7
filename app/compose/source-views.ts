/** Source around the places of a profile, for its pages: read when somebody asks, masked like what is recorded. */
import { resolve } from 'node:path';
import type { PageServices } from '../controllers/profiler/page-services.ts';
import { createPlaceExcerpts } from '../observe/place-excerpts.ts';
import type { SourceFiles } from '../observe/source-files.ts';
import type { SourceMaps } from '../observe/source-maps.ts';
import type { Redactor } from '../profiler/redact.ts';

export interface SourceViewOptions {
  /** The application's folder. */
  root: string;
  files: SourceFiles;
  maps: SourceMaps;
  redactor: Redactor;
}

const LINES_BEFORE = 15;
const LINES_AFTER = 15;

export function createSourceViews({
  root,
  files,
  maps,
  redactor,
}: SourceViewOptions): NonNullable<PageServices['sourceAt']> {
  const excerptOf = createPlaceExcerpts({ root, files, maps, before: LINES_BEFORE, after: LINES_AFTER });
  return (place) => {
    const excerpt = excerptOf(place);
    if (excerpt === null) return null;
    const file = resolve(root, place.replace(/:\d+$/, ''));
    return { ...redactor.tree({ excerpt }).value, changedAt: files.changedAt(file) };
  };
}
