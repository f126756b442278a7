/** Something threw, and the answer says that all went well. */
import type { KeptRouting } from '../panels/routing/index.ts';
import { fromLayerRow, hasThrown } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { nameOfLayer } from './shared/http.ts';
import { placed } from './shared/wording.ts';

export const errorAnswered2xx: FindingRule<{ routing: KeptRouting }> = {
  name: 'error-answered-2xx',
  needs: ['routing'],
  labels: ['error hidden'],
  known: 'A layer threw, rejected or handed an error to next(), and the status of the answer is below 300.',
  mends: 'Answer errors with a status of 4xx or 5xx, so that clients, caches and monitors can tell.',
  find({ routing }, { status }) {
    if (status === null || status < 200 || status >= 300) return [];
    const row = routing.layers.find(hasThrown);
    if (row === undefined) return [];
    const layer = fromLayerRow(row);
    const finding = {
      label: 'error hidden',
      severity: 'warn' as const,
      sentence: `${nameOfLayer(layer)} failed, yet the answer is ${status}`,
      panel: 'routing',
      anchor: 'match',
    };
    return [placed(finding, layer.source)];
  },
};
