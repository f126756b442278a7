/**
 * "Request again": GET and HEAD at once; other methods, and requests with masked values, after a page that asks. Then the comparison of
 * both profiles, or the CPU profile. Sent to the server that serves the page, never to another host.
 */
import { createError, isHindsightError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import type { Profile } from '../../profiler/profile.ts';
import { urls } from '../../urls.ts';
import { cpuFormOf } from './cpu-form.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { replayProfile } from './replay-profile.ts';
import {
  type GivenValues,
  isSafe,
  maskedValues,
  prepareReplay,
  type Replay,
  serverUrl,
} from './replay-request.ts';
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

/** `value-1` …: masked values of address and body in their order; `header-cookie` …: headers. An empty header is not sent. */
function givenValues(form: URLSearchParams, profile: Profile): GivenValues {
  const values = new Map<string, string>();
  maskedValues(profile).forEach(({ mark }, index) => {
    const value = form.get(`value-${index + 1}`);
    if (value !== null) values.set(mark, value);
  });
  const headers: Record<string, string> = {};
  for (const [name, value] of form)
    if (name.startsWith('header-') && value !== '') headers[name.slice('header-'.length)] = value;
  return { headers, values };
}

export function createReplayController(services: PageServices): { replay: PageAction } {
  const { forms, renderPage, foot, cpu, replay: allowed = 'safe' } = services;
  const respond = createRespond(services);
  const action = createSignedAction(services);

  /** Asks first, or says why nothing was sent. */
  async function show(
    page: PageRequest,
    { profile }: FoundProfile,
    state: { replay: Replay; cpu: boolean } | { problem: string },
  ): Promise<'responded'> {
    const csrf = await forms.sign();
    const model = {
      title: 'Request again',
      profile,
      replay: null,
      cpu: false,
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
    const forCpu = form.get('cpu') === 'yes' && cpuFormOf(before.profile, cpu) !== null;
    try {
      const given = givenValues(form, before.profile);
      const prepared = prepareReplay(before.profile, given);
      const isSure = form.get('sure') === 'yes';
      const asks = form.get('ask') === 'yes' || !isSafe(before.profile);
      if (prepared.missing.length > 0 || (asks && !isSure))
        return await show(page, before, { replay: prepared, cpu: forCpu });
      const server = serverUrl(page.req);
      if (forCpu) cpu?.arm(before.profile);
      const { status, after } = await replayProfile(services, before, {
        given,
        cpu: forCpu,
        server,
        signal: signalOf(page),
      });
      if (after === null)
        return await show(page, before, { problem: `The response was ${status}. It was not recorded.` });
      const { token } = after.profile;
      // A sampled request is slower, so a comparison says little.
      const target = forCpu
        ? urls.profile(token, 'cpu')
        : urls.compare({ a: before.profile.token, b: token });
      redirect(respond, page, target, 303);
      return 'responded';
    } catch (error) {
      if (!isHindsightError(error) || error.code !== 'BAD_REQUEST') throw error;
      return await show(page, before, { problem: error.message });
    }
  }

  return { replay: action(replay) };
}
