// Questions to the service that served the script. Its own header tells it that a bar asks: where access is refused, the
// answer then has no challenge, and no browser opens a password window over the page.

import { jsonText } from './format.js';

const MOST_MS = 10_000;
const REASONS = { 401: 'signin', 403: 'refused', 404: 'missing' };

/** Why an answer is none; null where it is one. Who is sent elsewhere, by whatever stands in front of the service, is to sign in there. */
function reasonOf({ ok, type, status, headers }) {
  if (type === 'opaqueredirect') return 'signin';
  if (!ok) return REASONS[status] ?? 'failed';
  return status === 204 || headers.get('content-type')?.startsWith('application/json') ? null : 'strange';
}

/**
 * `source`: address of the script, whole or from the root: what `<base>` says is for the page. Why there is no answer is told by
 * `reason`, null where there is one: `signin`, `refused`, `missing`, `failed` (the service has an error), `strange` (somebody else answers)
 * or `gone`; no promise of this is ever rejected.
 */
export function createAsk(source) {
  const base = new URL(source, location.href);
  const isOwn = base.origin === location.origin;
  // As the page has it now: what it puts in its place later need not see these.
  const send = window.fetch.bind(window);
  const headers = { 'x-hindsight-toolbar': '1' };

  /** Hrefs of the service begin at its root and stay in it; anything else is none. */
  function url(href) {
    if (typeof href !== 'string' || href[0] !== '/') return null;
    const to = new URL(href, base);
    return to.origin === base.origin ? to.href : null;
  }

  function address(path) {
    return new URL(path, base).href;
  }

  async function request(path, given) {
    try {
      const options = { headers, cache: 'no-store', redirect: 'manual', ...given };
      return await send(address(path), options);
    } catch {
      return null;
    }
  }

  async function json(path) {
    const options = { credentials: isOwn ? 'same-origin' : 'include', priority: 'low' };
    if (AbortSignal.timeout !== undefined) options.signal = AbortSignal.timeout(MOST_MS);
    const answer = await request(path, options);
    const reason = answer === null ? 'gone' : reasonOf(answer);
    try {
      return { value: reason === null ? await answer.json() : null, reason };
    } catch {
      return { value: null, reason: 'gone' };
    }
  }

  return {
    base,
    isOwn,
    url,
    json,
    /** Outlives the page. Gives the reason why it was not taken. */
    async post(path, body) {
      const options = {
        method: 'POST',
        body: jsonText(body),
        keepalive: true,
        credentials: 'same-origin',
      };
      const answer = await request(path, options);
      return answer === null ? 'gone' : reasonOf(answer);
    },
    /** `seek`: see revalidated.js. The answer is about the request that is meant where there is one, else about that of the token. */
    toolbar: (token, seek = null) =>
      json(`${token}/toolbar.json${seek === null ? '' : `?${new URLSearchParams(seek)}`}`),
    /** Without a token those of the pages of this origin, where that is another. */
    calls: (token) => json(token === null ? 'calls.json' : `${token}/calls.json`),
    /** The page of a profile. */
    profile: (token) => new URL(token, base).href,
    list: () => new URL('./', base).href,
  };
}
