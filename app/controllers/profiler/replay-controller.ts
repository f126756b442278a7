/**
 * "Request again": GET and HEAD at once, other methods after a page that asks, then the comparison of both profiles. Sent to the
 * server that serves the page, never to another host.
 */
import { createError, isHindsightError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { urls } from '../../urls.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { replayProfile } from './replay-profile.ts';
import { isSafe, prepareReplay, type Replay, serverUrl } from './replay-request.ts';
import { requireFormProfile } from './require-profile.ts';
import { createRespond, HTML, redirect } from './respond.ts';
import { createSignedAction } from './signed-action.ts';

/** Aborted if the client leaves. */
function signalOf({ res }: PageRequest): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    gone.abort();
  });
  return gone.signal;
}

export function createReplayController(services: PageServices): { replay: PageAction } {
  const { forms, renderPage, foot, replay: allowed = 'safe' } = services;
  const respond = createRespond(services);
  const action = createSignedAction(services);

  /** Asks first, or says why nothing was sent. */
  async function show(
    page: PageRequest,
    { profile }: FoundProfile,
    state: { replay: Replay } | { problem: string },
  ): Promise<'responded'> {
    const csrf = await forms.sign();
    const model = {
      title: 'Request again',
      profile,
      replay: null,
      problem: null,
      ...state,
      csrf,
      foot,
    };
    const status = 'problem' in state ? 400 : 200;
    respond(page, { status, type: HTML, body: renderPage('profiler/replay', model) });
    return 'responded';
  }

  async function replay(form: URLSearchParams, page: PageRequest): Promise<'responded'> {
    if (allowed === 'off')
      throw createError('BAD_REQUEST', ['PROFILER_REPLAY is off, so no request is sent again.']);
    const before = await requireFormProfile(services, form);
    try {
      if (!isSafe(before.profile) && form.get('sure') !== 'yes')
        return await show(page, before, { replay: prepareReplay(before.profile, {}) });
      const server = serverUrl(page.req);
      const { status, after } = await replayProfile(services, before, { server, signal: signalOf(page) });
      if (after === null)
        return await show(page, before, { problem: `The response was ${status}. It was not recorded.` });
      redirect(respond, page, urls.compare({ a: before.profile.token, b: after.profile.token }), 303);
      return 'responded';
    } catch (error) {
      if (!isHindsightError(error) || error.code !== 'BAD_REQUEST') throw error;
      return await show(page, before, { problem: error.message });
    }
  }

  return { replay: action(replay) };
}
