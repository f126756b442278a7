/** A body came, a handler ran and answered, and nobody had read of the body by then. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { KeptRouting } from '../panels/routing/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { mediaType, receivedHeader } from './shared/http.ts';
import { placed } from './shared/wording.ts';

/** `{}` is sent by clients that have nothing to say. */
const NOTHING = 2;

const PARSERS: Readonly<Record<string, string>> = {
  'application/json': 'express.json()',
  'application/x-www-form-urlencoded': 'express.urlencoded()',
  'multipart/form-data': 'a parser of multipart bodies, such as multer',
  'text/plain': 'express.text()',
  'application/octet-stream': 'express.raw()',
};

/** Some platforms parse a body before Express sees it; older parsers leave `{}` where they read nothing. */
function hasParsed({ parsed, fields }: NonNullable<KeptRequest['body']>): boolean {
  if (fields !== null && fields.length > 0) return true;
  return parsed !== undefined && JSON.stringify(parsed) !== '{}';
}

export const bodyNotParsed: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'body-not-parsed',
  needs: ['request', 'routing'],
  labels: ['unread body'],
  known:
    'A route ran, and when the headers of its answer went out nothing had been read from the stream of the request.',
  mends:
    'Mount the parser of this content type before the route, or send the type that the parser there takes.',
  find({ request, routing }, { status }) {
    const { body } = request;
    if (body?.unread !== true || routing.route === null || hasParsed(body)) return [];
    // Who refuses a request need not read it.
    if (status === null || (status >= 300 && status < 500)) return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const bytes = Math.max(body.bytes, Number.isFinite(announced) ? announced : 0);
    if (bytes <= NOTHING) return [];
    const type = mediaType(body.contentType);
    const parser = PARSERS[type];
    const finding = {
      label: 'unread body',
      severity: 'warn' as const,
      sentence: `Nobody read the ${numberHelpers.bytesText(bytes)} that came${type === '' ? ' without a content type' : ` as ${type.slice(0, 60)}`}${parser === undefined ? '' : `: ${parser} would`}`,
      panel: 'request',
      anchor: 'unread',
    };
    return [placed(finding, routing.route.source)];
  },
};
