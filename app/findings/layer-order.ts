/** A middleware answered 404 before the route that matches was asked: it stands in the wrong order. */
import type { KeptRouting } from '../panels/routing/index.ts';
import { fromLayerRow } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { nameOfLayer } from './shared/http.ts';
import { placed } from './shared/wording.ts';

export const layerOrder: FindingRule<{ routing: KeptRouting }> = {
  name: 'layer-order',
  needs: ['routing'],
  labels: ['order'],
  known:
    'A middleware ended the request with 404, and a route behind it has this method and path; no handler of it was called.',
  mends:
    'Move the middleware behind the routes (`app.use` runs in the order it is called), or let it call next().',
  find({ routing: { route, layers, considered } }, { status }) {
    if (status !== 404 || route !== null || considered === undefined) return [];
    const behind = considered.find(({ kind, verdict }) => kind === 'route' && verdict === 'matched');
    const last = layers.at(-1);
    if (behind === undefined || last === undefined) return [];
    const layer = fromLayerRow(last);
    if (layer.kind !== 'middleware' || layer.outcome !== 'running') return [];
    const finding = {
      label: 'order',
      severity: 'warn' as const,
      sentence: `${nameOfLayer(layer)} answered 404 as layer ${layers.length}; ${behind.methods.join(', ')} ${behind.pattern}, which matches, stands behind it`,
      panel: 'routing',
      anchor: 'match',
    };
    return [placed(finding, layer.source)];
  },
};
