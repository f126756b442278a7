// Questions to the service that served the script. Its own header tells it that a bar asks: where access is refused, the
// answer then has no challenge, and no browser opens a password window over the page.

const MOST_MS = 10_000;

/**
 * `source`: address of the script, whole or from the root: what `<base>` says is for the page. A refusal, a missing profile and a service that is gone are told apart by `reason`; no promise
 * of this is ever rejected.
 */
export function createAsk(source) {
  const base = new URL(source, location.href);
  const isOwn = base.origin === location.origin;
  // As the page has it now: what it puts in its place later need not see these.
  const send = window.fetch.bind(window);
  const headers = { 'x-hindsight-toolbar': '1' };

  /** Hrefs of the service begin at its root; anything else is none. */
  function url(href) {
    return typeof href === 'string' && /^\/(?!\/)/.test(href) ? new URL(href, base).href : null;
  }

  function address(path) {
    return new URL(path, base).href;
  }

  async function json(path) {
    try {
      const options = {
        headers,
        credentials: isOwn ? 'same-origin' : 'include',
        cache: 'no-store',
        priority: 'low',
      };
      if (AbortSignal.timeout !== undefined) options.signal = AbortSignal.timeout(MOST_MS);
      const answer = await send(address(path), options);
      if (answer.ok) return { value: await answer.json(), reason: null };
      const isRefused = answer.status === 401 || answer.status === 403;
      return { value: null, reason: isRefused ? 'refused' : answer.status === 404 ? 'missing' : 'gone' };
    } catch {
      return { value: null, reason: 'gone' };
    }
  }

  return {
    base,
    url,
    json,
    /** Outlives the page. */
    post(path, body) {
      const options = {
        method: 'POST',
        body: JSON.stringify(body),
        headers,
        keepalive: true,
        credentials: 'same-origin',
      };
      return send(address(path), options).then(
        ({ ok }) => ok,
        () => false,
      );
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
