/** The JSON of the response is a text that holds JSON: it was serialized twice. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, mediaType, sentHeaders } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';

/** A JSON string that begins like an object or a list of JSON. */
const TWICE = /^"(?:\{(?:\\"|\})|\[(?:\{|\[|\\"|\]|-?\d))/;

export const jsonTwice: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'json-twice',
  needs: ['request'],
  labels: ['JSON in JSON'],
  why: 'The response is JSON, and all of it is one string that begins like JSON.',
  fix: 'Pass the value itself: `res.json(rows)`, not `res.json(JSON.stringify(rows))`.',
  find({ request, routing }, { status }) {
    const { response } = request;
    if (status === null || !TWICE.test(response?.text ?? '')) return [];
    if (!/[/+]json$/.test(mediaType(response?.contentType ?? null))) return [];
    const [type] = sentHeaders(request, 'content-type');
    const author = type === undefined ? undefined : authorOf(request, routing, type.anchor);
    const sentence = 'The response was serialized twice: it is a string that contains JSON';
    return [
      {
        broke: 'unseen',
        severity: 'warn',
        sentence,
        anchor: 'response',
        place: author?.source ?? routing?.route?.source,
      },
    ];
  },
};
