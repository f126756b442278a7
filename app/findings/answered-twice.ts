/** Something tried to respond after the response had been sent. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice, lineOf } from './shared/errors.ts';
import { layerAt, nameOfLayer } from './shared/http.ts';
import { duration } from './shared/wording.ts';

/** After the end of the response nothing of it is observed any more, but the error that Node.js throws. */
function afterEnd(exception: ExceptionData | undefined): FindingDraft[] {
  const index = exception?.errors.findIndex(isAnsweredTwice) ?? -1;
  const error = exception?.errors[index];
  if (error === undefined) return [];
  const sentence = `${error.from?.name ?? 'The application'} set headers after the headers were sent`;
  const place = lineOf(error) ?? error.from?.place;
  return [
    { broke: 'unseen', severity: 'bad', sentence, panel: 'exception', anchor: `error-${index + 1}`, place },
  ];
}

export const answeredTwice: FindingRule<
  { request: KeptRequest; routing: KeptRouting } & { exception?: ExceptionData }
> = {
  name: 'answered-twice',
  needs: ['request', 'routing'],
  labels: ['answered twice'],
  why: 'A header was set after the headers were sent, which Node.js rejects (`ERR_HTTP_HEADERS_SENT`), or `end()` was given a body after the response had ended, which Node.js ignores.',
  fix: 'Return after each response (`return res.json(…)`), and either respond or call `next()`, never both.',
  find({ request: { response }, routing, exception }) {
    const refused = response?.refused;
    const [first] = refused ?? [];
    if (first === undefined) return afterEnd(exception);
    const layer = layerAt(routing, first.layer);
    const headersAtMs = response?.headersAtMs ?? null;
    const delay = headersAtMs === null ? '' : `${duration(Math.max(0, first.atMs - headersAtMs))} `;
    const what =
      first.name === null
        ? 'passed a body to end() after the response had ended'
        : `set ${first.name} ${delay}after the headers were sent`;
    const thrown = exception?.errors.find(isAnsweredTwice);
    const place = (thrown === undefined ? null : lineOf(thrown)) ?? first.from ?? layer?.source;
    return [
      {
        broke: 'unseen',
        severity: 'bad',
        sentence: `${nameOfLayer(layer)} ${what}`,
        anchor: 'late-1',
        place,
      },
    ];
  },
};
