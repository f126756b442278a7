/** An event stream that is compressed: events can wait until the compressor's buffer is full. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { sentHeader } from './shared/http.ts';

export const streamBuffered: FindingRule<{ request: KeptRequest }> = {
  name: 'stream-buffered',
  needs: ['request'],
  labels: ['buffered stream'],
  why: 'The response is an event stream with a Content-Encoding, so a compressor buffers what is written.',
  fix: 'Exclude event streams from compression (`Cache-Control: no-transform`, or its filter), or call `res.flush()` after each event.',
  find({ request }, _profile, shared) {
    const { response } = request;
    if (response === undefined || !/^\s*text\/event-stream\b/i.test(response.contentType ?? '')) return [];
    const encoding = sentHeader(request, shared, 'content-encoding');
    if (encoding === null || /^\s*(?:identity)?\s*$/i.test(encoding.value)) return [];
    return [
      {
        label: 'buffered stream',
        severity: 'warn',
        sentence: `The event stream is compressed, so events may wait in a buffer; ${numberHelpers.bytesText(response.bytes)} were sent so far`,
        panel: 'request',
        anchor: encoding.anchor,
      },
    ];
  },
};
