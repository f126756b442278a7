/** A page of HTML was sent with 200 where the browser asked for a script, a style sheet, an image or a font. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, lastRunning } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { pathOf } from '../profiler/request-target.ts';
import { mediaType, nameOfLayer, receivedHeader } from './shared/http.ts';

/** What `Sec-Fetch-Dest` says the browser wants. */
const WANTED: Readonly<Record<string, string>> = {
  script: 'a script',
  worker: 'a script',
  sharedworker: 'a script',
  serviceworker: 'a script',
  style: 'a style sheet',
  image: 'an image',
  font: 'a font',
};
/** For clients that don't say. */
const ENDINGS: Readonly<Record<string, string>> = {
  js: 'a script',
  mjs: 'a script',
  css: 'a style sheet',
  woff2: 'a font',
};

function wantedBy(request: KeptRequest, path: string): string | undefined {
  const destination = receivedHeader(request, 'sec-fetch-dest');
  // Browsers ask for /favicon.ico unasked.
  if (destination === 'image' && path === '/favicon.ico') return undefined;
  if (destination !== null && destination !== 'empty') return WANTED[destination];
  return ENDINGS[path.slice(path.lastIndexOf('.') + 1)];
}

export const htmlInstead: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'html-instead',
  needs: ['request', 'routing'],
  labels: ['HTML instead'],
  why: 'What the browser says it wants (`Sec-Fetch-Dest`), or the ending of the path, is a script, style sheet, image or font; the response is a page of HTML with status 200.',
  fix: 'Check the folder and the mount path of the files, serve them before the route for all other paths, and respond with a 404 to files that are missing.',
  find({ request, routing }, { status, url, method }) {
    if (status !== 200 || mediaType(request.response?.contentType ?? null) !== 'text/html') return [];
    const wanted = method === 'GET' ? wantedBy(request, pathOf(url)) : undefined;
    if (wanted === undefined) return [];
    const layer = lastRunning(routing.layers.map(fromLayerRow));
    return [
      {
        broke: 'unseen',
        severity: 'warn',
        sentence: `The browser wants ${wanted}, and ${nameOfLayer(layer)} sent a page of HTML with status 200: it can’t be used`,
        panel: 'routing',
        anchor: 'match',
        place: layer?.source,
      },
    ];
  },
};
