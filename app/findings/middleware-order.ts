/** A middleware answered 404 before the router reached the route that matches. */
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { nameOfLayer } from './shared/http.ts';

/** `*`, `/*path`, `/{*path}`, `(.*)`: a route for all that nothing else answers is last on purpose. */
const CATCH_ALL = /^\/?(?:\*\w*|\{\/?\*\w+\}|\(?\.\*\)?|\/\^?\.\*\$?\/)$/;

export const middlewareOrder: FindingRule<{ routing: KeptRouting }> = {
  name: 'middleware-order',
  needs: ['routing'],
  labels: ['middleware order'],
  why: 'A middleware ended the request with a 404, no route handler ran, and a route registered after it matches this method and path.',
  fix: 'Register the middleware after the routes (`app.use` runs in call order), or let it call `next()`.',
  find({ routing: { route, layers, considered } }, { status }) {
    if (status !== 404 || route !== null || considered === undefined) return [];
    const missed = considered.find(
      ({ kind, verdict, pattern }) => kind === 'route' && verdict === 'matched' && !CATCH_ALL.test(pattern),
    );
    const last = layers.at(-1);
    if (missed === undefined || last === undefined) return [];
    const layer = fromLayerRow(last);
    if (layer.kind !== 'middleware' || layer.outcome !== 'running') return [];
    const sentence = `${nameOfLayer(layer)} answered 404 at step ${layers.length}; ${missed.methods.join(', ')} ${missed.pattern} matches, but is registered after it`;
    return [{ broke: 'response', severity: 'warn', sentence, anchor: 'match', place: layer.source }];
  },
};
