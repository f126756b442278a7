/** Something tried to respond after the response had been sent. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import type { Finding } from '../profiler/finding.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice, lineOf } from './shared/errors.ts';
import { layerAt, nameOfLayer } from './shared/http.ts';
import { duration, placed } from './shared/wording.ts';

/** After the end of the response nothing of it is observed any more, but the error that Node.js throws. */
function afterEnd(exception: ExceptionData | undefined): Finding[] {
  const index = exception?.errors.findIndex(isAnsweredTwice) ?? -1;
  const error = exception?.errors[index];
  if (error === undefined) return [];
  const finding = {
    label: 'answered twice',
    broke: 'unseen' as const,
    severity: 'bad' as const,
    sentence: `${error.from?.name ?? 'The application'} set headers after the headers were sent`,
    panel: 'exception',
    anchor: `error-${index + 1}`,
  };
  return [placed(finding, lineOf(error) ?? error.from?.place)];
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
    const finding = {
      label: 'answered twice',
      broke: 'unseen' as const,
      severity: 'bad' as const,
      sentence: `${nameOfLayer(layer)} ${what}`,
      panel: 'request',
      anchor: 'late-1',
    };
    const thrown = exception?.errors.find(isAnsweredTwice);
    return [placed(finding, (thrown === undefined ? null : lineOf(thrown)) ?? layer?.source)];
  },
};
