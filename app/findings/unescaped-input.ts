/** A page contains markup that the request sent: whoever makes somebody open that address runs code in their page. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, mediaType, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';

/** The beginning of a tag. Shorter texts are found by chance. */
const MARKUP = /<[a-z!/][^]{2,}/i;
const LONGEST = 2000;

/** Names and texts of what the client chose. */
function inputsOf({ query = [], routeParams = [], body }: KeptRequest): [what: string, value: string][] {
  const given: [string, unknown][] = [
    ...routeParams.map(({ name, value }): [string, unknown] => [`the parameter ${name}`, value]),
    ...query.map(({ name, value }): [string, unknown] => [`the query’s ${name}`, value]),
    ...(body?.fields ?? []).map(({ name, value }): [string, unknown] => [`the field ${name}`, value]),
  ];
  return given.flatMap(([what, value]): [string, string][] =>
    typeof value === 'string' && value.length <= LONGEST && MARKUP.test(value)
      ? [[what.slice(0, 80), value]]
      : [],
  );
}

export const unescapedInput: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'unescaped-input',
  needs: ['request'],
  labels: ['unescaped input'],
  why: 'A parameter, query value or form field that contains a tag appears unescaped in the HTML of the response.',
  fix: 'Let a template escape it (`<%= … %>` in EJS), or respond with text or JSON.',
  find({ request, routing }, _head) {
    const { response } = request;
    const text = response?.text ?? null;
    if (text === null || mediaType(response?.contentType ?? null) !== 'text/html') return [];
    const found = inputsOf(request).find(([, value]) => text.includes(value));
    if (found === undefined) return [];
    const type = sentHeader(request, 'content-type');
    const author = type === null ? undefined : authorOf(request, routing, type.anchor);
    const sentence = `The HTML of the response contains ${found[0]} as it was sent, not escaped: its markup runs in the page`;
    return [
      {
        broke: 'unseen',
        severity: 'bad',
        sentence,
        anchor: 'response',
        place: author?.source ?? routing?.route?.source,
      },
    ];
  },
};
