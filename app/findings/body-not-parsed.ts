/** The request had a body, a route answered it, and nothing had read the body by then. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { mediaType, receivedHeader } from './shared/http.ts';

/** Clients that have nothing to send post `{}`. */
const EMPTY_BYTES = 2;

/** What handlers respond where a field is missing. */
const INVALID = new Set([400, 422]);

const PARSERS: Readonly<Record<string, string>> = {
  'application/json': 'express.json()',
  'application/x-www-form-urlencoded': 'express.urlencoded()',
  'multipart/form-data': 'a multipart parser such as multer',
  'text/plain': 'express.text()',
  'application/octet-stream': 'express.raw()',
};

/** Some platforms parse the body before Express sees it; older parsers leave `{}` when they read nothing. */
function hasParsed({ parsed, fields }: NonNullable<KeptRequest['body']>): boolean {
  if (fields !== null && fields.length > 0) return true;
  return parsed !== undefined && JSON.stringify(parsed) !== '{}';
}

export const bodyNotParsed: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'body-not-parsed',
  needs: ['request', 'routing'],
  labels: ['unparsed body'],
  why: 'A route ran, and nothing had been read from the request body when the response headers were sent.',
  fix: 'Mount the parser for this content type before the route, or send the content type that the mounted parser accepts.',
  find({ request, routing }, { status }) {
    const { body } = request;
    if (body?.unread !== true || routing.route === null || hasParsed(body)) return [];
    // A handler that refuses a request need not read its body, unless it refuses what it did not find there.
    if (status === null || (status >= 300 && status < 500 && !INVALID.has(status))) return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const bytes = Math.max(body.bytes, Number.isFinite(announced) ? announced : 0);
    if (bytes <= EMPTY_BYTES) return [];
    const type = mediaType(body.contentType);
    const parser = PARSERS[type];
    const sentence = `Nothing read the request body (${numberHelpers.bytesText(bytes)}, ${type === '' ? 'no content type' : type.slice(0, 60)})${parser === undefined ? '' : `; ${parser} parses this type`}`;
    return [
      {
        broke: status >= 400 ? 'response' : 'unseen',
        severity: 'warn',
        sentence,
        anchor: 'unread',
        place: routing.route.source,
      },
    ];
  },
};
