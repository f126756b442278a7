/** Something was put into a new session, and no cookie tells the client its id: the next request can't find it. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { receivedHeader, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { isUntrustedHttps } from './shared/proxy.ts';
import { isRecord } from '../profiler/json.ts';

const NAMED = 3;

export const sessionWithoutCookie: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'session-without-cookie',
  needs: ['request'],
  labels: ['session without cookie'],
  why: 'The request sent no cookie and left values in its session, but the response set no cookie. `express-session` omits it where `cookie.secure` is on and `req.secure` is not.',
  fix: "Set `cookie.secure` to `'auto'`, or trust the proxy that terminates TLS (`app.set('trust proxy', …)`).",
  find({ request, routing }, { status }) {
    const session = request.sessionAndUser?.session;
    if (!isRecord(session)) return [];
    // Values that came too late have a rule of their own.
    if (status === null || status >= 400 || request.sessionAndUser?.late !== undefined) return [];
    if (receivedHeader(request, 'cookie') !== null || sentHeader(request, 'set-cookie') !== null) return [];
    const names = Object.keys(session);
    if (names.length === 0) return [];
    const named = names.slice(0, NAMED).map((name) => `req.session.${name.slice(0, 60)}`);
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
    const proxy = isUntrustedHttps(request) ? ' (the proxy says https, but is not trusted)' : '';
    const plain =
      request.client.scheme === 'http' ? ` over http${proxy}, where a secure session cookie is not set` : '';
    const sentence = `The new session has ${named.join(', ')}${more}, but no session cookie was sent${plain}: the next request may not find it`;
    return [
      { broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place: routing?.route?.source },
    ];
  },
};
