/** The Content-Length that was sent is not the length of the body. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { count } from './shared/wording.ts';

export const wrongLength: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'wrong-length',
  needs: ['request'],
  labels: ['wrong length'],
  why: 'The response finished, and its body has more or fewer bytes than its Content-Length says.',
  fix: 'Let `res.send` compute it. By hand it is `Buffer.byteLength(text)`: `text.length` counts characters.',
  find({ request, routing }, { method, status, outcome }, shared) {
    const { response } = request;
    if (response === undefined || status === null || outcome !== 'finished') return [];
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return [];
    const length = sentHeader(request, shared, 'content-length');
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
