/** Something tried to respond after the response had been sent. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { layerAt, nameOfLayer } from './shared/http.ts';
import { duration, placed } from './shared/wording.ts';

export const answeredTwice: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'answered-twice',
  needs: ['request', 'routing'],
  labels: ['answered twice'],
  why: 'A header was set after the headers were sent, which Node.js rejects (`ERR_HTTP_HEADERS_SENT`), or `end()` was given a body after the response had ended, which Node.js ignores.',
  fix: 'Return after each response (`return res.json(…)`), and either respond or call `next()`, never both.',
  find({ request: { response }, routing }) {
    const refused = response?.refused;
    const [first] = refused ?? [];
    if (first === undefined) return [];
    const layer = layerAt(routing, first.layer);
    const headersAtMs = response?.headersAtMs ?? null;
    const delay = headersAtMs === null ? '' : `${duration(Math.max(0, first.atMs - headersAtMs))} `;
    const what =
      first.name === null
        ? 'passed a body to end() after the response had ended'
        : `set ${first.name} ${delay}after the headers were sent`;
    const finding = {
      label: 'answered twice',
      broke: 'unseen' as const,
      severity: 'bad' as const,
      sentence: `${nameOfLayer(layer)} ${what}`,
      panel: 'request',
      anchor: 'late-1',
    };
    return [placed(finding, layer?.source)];
  },
};
