// Requests to the service that served the script. A header of their own tells the service that the bar asks: a refusal then comes without
// a challenge, and no browser opens a password window over the page.

import { jsonText } from './format.js';

const MOST_MS = 10_000;
const REASONS = { 401: 'signin', 403: 'refused', 404: 'missing' };

/** Why a response is of no use; null where it is. A redirect comes from whatever stands in front of the service, and leads to a sign-in. */
function reasonOf({ ok, type, status, headers }) {
  if (type === 'opaqueredirect') return 'signin';
  if (!ok) return REASONS[status] ?? 'failed';
  return status === 204 || headers.get('content-type')?.startsWith('application/json') ? null : 'strange';
}

/**
 * Whether a policy in the document forbids requests to the service. The tag stands before any of these, so they bind the bar's requests and
 * not its script. A source that is not understood counts as none: a request would be reported as a violation of the page's.
 */
function isForbiddenInPage({ origin, protocol, host }) {
  const allowing = ['*', protocol, host, origin, ...(origin === location.origin ? ["'self'"] : [])];
  return [...document.querySelectorAll('meta[http-equiv="content-security-policy" i]')]
    .flatMap(({ content }) => content.toLowerCase().split(','))
    .some((policy) => {
      const directives = policy.split(';').map((text) => text.trim().split(/\s+/));
      const of = (name) => directives.find(([first]) => first === name);
      const sources = of('connect-src') ?? of('default-src');
      return sources !== undefined && !sources.some((source) => allowing.includes(source));
    });
}

/**
 * `source`: address of the script, whole or from the root: what `<base>` says is for the page. `isForbidden`: a policy in the page's headers
 * forbids requests. `reason` tells why there is no response, null where there is one: `policy`, `signin`, `refused`, `missing`, `failed` (the
 * service has an error), `strange` (another program answers) or `gone`; no promise of this is ever rejected.
 */
export function createAsk(source, isForbidden = false) {
  const base = new URL(source, location.href);
  const isOwn = base.origin === location.origin;
  // As it is now: a later wrapper of the page's need not see these requests.
  const send = window.fetch.bind(window);
  const beacon = navigator.sendBeacon.bind(navigator);
  const headers = { 'x-hindsight-toolbar': '1' };

  /** An href of the service begins with a slash and stays on its origin; anything else is null. */
  function url(href) {
    if (typeof href !== 'string' || href[0] !== '/') return null;
    const to = new URL(href, base);
    return to.origin === base.origin ? to.href : null;
  }

  const address = (path) => new URL(path, base).href;

  async function request(path, given) {
    if (isForbidden || isForbiddenInPage(base)) return { response: null, reason: 'policy' };
    try {
      const response = await send(address(path), {
        headers,
        cache: 'no-store',
        redirect: 'manual',
        ...given,
      });
      return { response, reason: reasonOf(response) };
    } catch {
      return { response: null, reason: 'gone' };
    }
  }

  async function json(path) {
    const credentials = isOwn ? 'same-origin' : 'include';
    const signal = AbortSignal.timeout(MOST_MS);
    const { response, reason } = await request(path, { credentials, priority: 'low', signal });
    try {
      return { value: reason === null ? await response.json() : null, reason };
    } catch {
      return { value: null, reason: 'gone' };
    }
  }

  return {
    base,
    isOwn,
    url,
    /** Outlives the page. */
    post(path, body) {
      const options = { method: 'POST', keepalive: true, credentials: 'same-origin' };
      return request(path, { ...options, body: jsonText(body) });
    },
    /** Outlives the page, and needs no preflight from another origin. */
    report(body) {
      if (!isForbidden && !isForbiddenInPage(base)) beacon(address('-/report'), jsonText(body));
    },
    /** `seek`: see revalidated.js. Tells of the request that is meant where the service finds one, else of that of the token. */
    toolbar: (token, seek = null) =>
      json(`${token}/toolbar.json${seek === null ? '' : `?${new URLSearchParams(seek)}`}`),
    /** Without a token those from this origin since the page began. */
    calls: (token) =>
      json(token === null ? `calls.json?age=${Math.round(performance.now())}` : `${token}/calls.json`),
    profile: address,
    list: () => address('./'),
  };
}
