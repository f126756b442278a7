/** The Content-Length or Content-Encoding that was sent is not that of the body. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { count, excerpt } from './shared/wording.ts';

export const wrongLength: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'wrong-length',
  needs: ['request'],
  labels: ['wrong length', 'wrong encoding'],
  why: 'The body has more or fewer bytes than its Content-Length says, or is plain text where its Content-Encoding names a compression.',
  fix: 'Let `res.send` compute it (`Buffer.byteLength(text)` by hand, not `text.length`). A proxy whose client decodes bodies, as `fetch` does, must not pass on Content-Encoding and Content-Length.',
  find({ request, routing }, { method, status, outcome }) {
    const { response } = request;
    if (response === undefined || status === null || outcome !== 'finished') return [];
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return [];
    const encoding = response.text === null ? null : sentHeader(request, 'content-encoding');
    if (encoding !== null && !/^\s*(?:identity)?\s*$/i.test(encoding.value)) {
      const sentence = `Content-Encoding is ${excerpt(encoding.value, 40)}, but the body is not compressed: clients fail to decode it`;
      const place = authorOf(request, routing, encoding.anchor)?.source ?? routing?.route?.source;
      const { anchor } = encoding;
      return [{ label: 'wrong encoding', broke: 'response', severity: 'bad', sentence, anchor, place }];
    }
    const length = sentHeader(request, 'content-length');
    if (length === null || !/^\d+$/.test(length.value) || Number(length.value) === response.bytes) return [];
    const sentence = `Content-Length is ${count(Number(length.value))}, but the body has ${count(response.bytes, 'byte')}: clients cut it off or wait for the rest`;
    return [
      {
        broke: 'unseen',
        severity: 'bad',
        sentence,
        anchor: length.anchor,
        place: authorOf(request, routing, length.anchor)?.source ?? routing?.route?.source,
      },
    ];
  },
};
