/** The answer was out already when something tried to answer again. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { KeptRouting } from '../panels/routing/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { layerAt, nameOfLayer } from './shared/http.ts';
import { duration, placed } from './shared/wording.ts';

export const answeredTwice: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'answered-twice',
  needs: ['request', 'routing'],
  labels: ['answered twice'],
  known:
    'A header was set after the headers were out, which Node refuses, or a body was sent after the end of the answer, which it drops.',
  mends: 'Return after each answer (`return res.json(…)`), and call next() or answer, never both.',
  find({ request: { response }, routing }) {
    const refused = response?.refused;
    const [first] = refused ?? [];
    if (first === undefined) return [];
    const layer = layerAt(routing, first.layer);
    const headersAtMs = response?.headersAtMs ?? null;
    const after =
      headersAtMs === null
        ? ''
        : `, ${duration(Math.max(0, first.atMs - headersAtMs))} after the headers went out`;
    const what =
      first.name === null ? 'sent a body after the end of the answer' : `set ${first.name} too late`;
    const finding = {
      label: 'answered twice',
      severity: 'bad' as const,
      sentence: `${nameOfLayer(layer)} ${what}${after}`,
      panel: 'request',
      anchor: 'late-1',
    };
    return [placed(finding, layer?.source)];
  },
};
