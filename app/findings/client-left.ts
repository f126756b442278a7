/** The client disconnected before the response finished. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { mediaType, receivedHeader } from './shared/http.ts';
import { duration } from './shared/wording.ts';

export const clientLeft: FindingRule<{ request: KeptRequest }> = {
  name: 'client-left',
  needs: ['request'],
  labels: ['client left'],
  why: 'The connection closed before the response finished, and the application had not destroyed it with an error.',
  fix: "Respond sooner, or stop the work when the client disconnects (`res.on('close')`, an AbortSignal).",
  find({ request }, { outcome, status, durationMs, error }) {
    if (outcome !== 'aborted' || durationMs === null || error !== null) return [];
    const { response, body } = request;
    // Event streams and WebSockets normally end this way; an incomplete upload has its own rule.
    if (mediaType(response?.contentType ?? null) === 'text/event-stream' || status === 101) return [];
    if (Number(receivedHeader(request, 'content-length') ?? 0) > (body?.bytes ?? 0)) return [];
    const progress =
      status === null
        ? 'before the headers were sent'
        : `with ${numberHelpers.bytesText(response?.bytes ?? 0)} of the body sent`;
    return [
      {
        label: 'client left',
        severity: 'info',
        sentence: `The client disconnected after ${duration(durationMs)}, ${progress}`,
        panel: 'request',
        anchor: 'response',
      },
    ];
  },
};
