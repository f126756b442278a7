/** An event stream that is compressed: events can wait until the compressor's buffer is full. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { directivesIn, headerCode, sentValue } from './shared/header-code.ts';
import { sentHeader } from './shared/http.ts';

export const streamBuffered: FindingRule<{ request: KeptRequest }> = {
  name: 'stream-buffered',
  needs: ['request'],
  labels: ['buffered stream'],
  why: 'The response is an event stream with a Content-Encoding, so a compressor buffers what is written.',
  fix: 'Exclude event streams from compression (`Cache-Control: no-transform`, or its filter), or call `res.flush()` after each event.',
  find({ request }, _profile) {
    const { response } = request;
    if (response === undefined || !/^\s*text\/event-stream\b/i.test(response.contentType ?? '')) return [];
    const encoding = sentHeader(request, 'content-encoding');
    if (encoding === null || /^\s*(?:identity|none)?\s*$/i.test(encoding.value)) return [];
    const sentence = `The event stream is compressed, so events may wait in a buffer; ${numberHelpers.bytesText(response.bytes)} were sent so far`;
    return [{ severity: 'warn', sentence, anchor: encoding.anchor }];
  },
  code(_finding, profile) {
    const directives = directivesIn(sentValue(profile, 'cache-control'));
    return headerCode(
      'Cache-Control',
      [...(directives.length === 0 ? ['no-cache'] : directives), 'no-transform'],
      'Assumes that the compressor is the package compression, or a proxy, which leave such a response as it is.',
    );
  },
};
