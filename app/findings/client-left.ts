/** The client did not wait for the end of the answer. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { mediaType, receivedHeader } from './shared/http.ts';
import { duration } from './shared/wording.ts';

export const clientLeft: FindingRule<{ request: KeptRequest }> = {
  name: 'client-left',
  needs: ['request'],
  labels: ['client left'],
  known: 'The connection closed before the answer had ended, and nobody had destroyed it with an error.',
  mends: "Answer sooner, or stop the work when it is of no use any more (`req.on('close')`, an AbortSignal).",
  find({ request }, { outcome, status, durationMs, error }) {
    if (outcome !== 'aborted' || durationMs === null || error !== null) return [];
    const { response, body } = request;
    // An event stream or a WebSocket ends by its client's leaving, and an upload that was cut off is told by its own rule.
    if (mediaType(response?.contentType ?? null) === 'text/event-stream' || status === 101) return [];
    if (Number(receivedHeader(request, 'content-length') ?? 0) > (body?.bytes ?? 0)) return [];
    const far =
      status === null
        ? 'before any header was out'
        : `after ${numberHelpers.bytesText(response?.bytes ?? 0)} of the body`;
    return [
      {
        label: 'client left',
        severity: 'info',
        sentence: `The client left after ${duration(durationMs)}, ${far}`,
        panel: 'request',
        anchor: 'response',
      },
    ];
  },
};
