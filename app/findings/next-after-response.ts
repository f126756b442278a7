/** A middleware responded and called `next()` as well, so that the layers after it ran for a response that was gone. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice } from './shared/errors.ts';
import { authorOf, nameOfLayer, sentHeader } from './shared/http.ts';
import { count } from './shared/wording.ts';

export const nextAfterResponse: FindingRule<{
  request: KeptRequest;
  routing: KeptRouting;
  exception?: ExceptionData;
}> = {
  name: 'next-after-response',
  needs: ['request', 'routing'],
  labels: ['next after response'],
  why: 'A middleware set the headers of the body, and other middleware or handlers started after the headers had been sent.',
  fix: 'Return after the response (`return res.status(403).json(…)`), so that `next()` is only called where there is none.',
  find({ request, routing, exception }, _head) {
    const { headersAtMs = null, endedAtMs = headersAtMs, refused, nextFrom } = request.response ?? {};
    const last = routing.layers.at(-1);
    if (headersAtMs === null || endedAtMs === null || last === undefined) return [];
    // A library that always calls `next()`, as routing-controllers does: nobody can return before it.
    if (nextFrom === null) return [];
    const sent = routing.layers
      .map(fromLayerRow)
      .filter(({ startMs, kind }) => startMs > headersAtMs && kind !== 'error');
    // One middleware may write the body and another one end the response, unless that one fails.
    const failed = refused !== undefined || sent.some(({ outcome }) => outcome === 'threw');
    const after = failed ? sent : sent.filter(({ startMs }) => startMs > endedAtMs);
    // After the end of the response no layer is recorded, but that the last one called `next()`.
    if (after.length === 0 && (fromLayerRow(last).nextMs ?? 0) === 0) return [];
    const type = sentHeader(request, 'content-type') ?? sentHeader(request, 'content-length');
    const author = type === null ? undefined : authorOf(request, routing, type.anchor);
    if (author?.outcome !== 'next' || author.startMs > headersAtMs) return [];
    if (author.startMs + (author.nextMs ?? 0) <= headersAtMs) return [];
    // It didn't call `next()`: Express had another error for it, that of the handler that responded a second time (answered-twice).
    if (author.kind === 'error' && exception?.errors.some(isAnsweredTwice)) return [];
    const ran =
      after.length === 0
        ? 'after the response had ended'
        : `${count(after.length, 'more function')} ran after the headers were sent`;
    const sentence = `${nameOfLayer(author)} responded and called next()${after.length === 0 ? ' ' : ': '}${ran}`;
    return [
      {
        broke: 'unseen',
        severity: 'warn',
        sentence,
        panel: 'routing',
        anchor: 'match',
        place: nextFrom ?? author.source,
      },
    ];
  },
};
