/** Something failed, but the response reports success. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, hasThrown } from '../panels/shared/layer-rows.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice, lineOf } from './shared/errors.ts';
import { nameOfLayer } from './shared/http.ts';
import { excerpt } from './shared/wording.ts';

/** What JavaScript throws by itself: other errors of a resolver are often meant for the client. */
const FAULTS = new Set(['TypeError', 'ReferenceError', 'RangeError', 'SyntaxError', 'URIError']);

/** GraphQL responds 200 whatever its resolvers throw. */
function failedResolver(exception: ExceptionData | undefined, status: number): FindingDraft[] {
  const index =
    exception?.errors.findIndex(
      ({ origin, thrown }) => origin === 'graphql' && FAULTS.has(thrown.chain[0]?.class ?? ''),
    ) ?? -1;
  const record = exception?.errors[index];
  const [error] = record?.thrown.chain ?? [];
  if (record === undefined || error === undefined) return [];
  const sentence = `A resolver failed (${error.class}: ${excerpt(error.message)}), but the request still answered ${status}`;
  const place = lineOf(record);
  return [
    { broke: 'unseen', severity: 'warn', sentence, panel: 'exception', anchor: `error-${index + 1}`, place },
  ];
}

export const errorAnswered2xx: FindingRule<{ routing: KeptRouting; exception?: ExceptionData }> = {
  name: 'error-answered-2xx',
  needs: ['routing'],
  labels: ['error hidden'],
  why: 'A middleware or handler threw, rejected or passed an error to `next()`, or a GraphQL resolver threw a built-in error such as `TypeError`, and the response status is a 2xx.',
  fix: 'Respond to errors with a 4xx or 5xx status, so that clients, caches and monitoring can tell. GraphQL responds 200 by design: there, fix the line, and throw a `GraphQLError` for what clients should know.',
  find({ routing, exception }, { status }) {
    if (status === null || status < 200 || status >= 300) return [];
    // Reported by error-dropped, and by answered-twice.
    if (exception?.errors.some((error) => error.dropped === true || isAnsweredTwice(error)) === true)
      return [];
    const row = routing.layers.find(hasThrown);
    if (row === undefined) return failedResolver(exception, status);
    const layer = fromLayerRow(row);
    const sentence = `${nameOfLayer(layer)} failed, but the request still answered ${status}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'match', place: layer.source }];
  },
};
