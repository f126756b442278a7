/** An event stream that goes through a compressor: events wait in its buffer until it is full. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { sentHeader } from './shared/http.ts';

export const streamBuffered: FindingRule<{ request: KeptRequest }> = {
  name: 'stream-buffered',
  needs: ['request'],
  labels: ['buffered stream'],
  known:
    'The answer is an event stream and has a Content-Encoding, so that what is written goes through a compressor first.',
  mends:
    'Leave event streams out of compression (`Cache-Control: no-transform`, or its filter), or call res.flush() after each event.',
  find({ request }, _profile, shared) {
    const { response } = request;
    if (response === undefined || !/^\s*text\/event-stream\b/i.test(response.contentType ?? '')) return [];
    const encoding = sentHeader(request, shared, 'content-encoding');
    if (encoding === null || /^\s*(?:identity)?\s*$/i.test(encoding.value)) return [];
    return [
      {
        label: 'buffered stream',
        severity: 'warn',
        sentence: `The event stream is compressed: events may wait in its buffer; ${numberHelpers.bytesText(response.bytes)} went out so far`,
        panel: 'request',
        anchor: encoding.anchor,
      },
    ];
  },
};
