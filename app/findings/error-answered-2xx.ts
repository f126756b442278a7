/** Something failed, but the response reports success. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, hasThrown } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { nameOfLayer } from './shared/http.ts';

export const errorAnswered2xx: FindingRule<{ routing: KeptRouting; exception?: ExceptionData }> = {
  name: 'error-answered-2xx',
  needs: ['routing'],
  labels: ['error hidden'],
  why: 'A middleware or handler threw, rejected or passed an error to `next()`, and the response status is a 2xx.',
  fix: 'Respond to errors with a 4xx or 5xx status, so that clients, caches and monitoring can tell.',
  find({ routing, exception }, { status }) {
    if (status === null || status < 200 || status >= 300) return [];
    // Reported by error-dropped.
    if (exception?.errors.some(({ dropped }) => dropped === true) === true) return [];
    const row = routing.layers.find(hasThrown);
    if (row === undefined) return [];
    const layer = fromLayerRow(row);
    const sentence = `${nameOfLayer(layer)} failed, but the request still answered ${status}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'match', place: layer.source }];
  },
};
