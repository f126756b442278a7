/**
 * "Request again": GET and HEAD at once; other methods, and requests with masked values, after a page that asks. Then the comparison of
 * both profiles, the CPU profile, or the values where it failed. Sent to the server that serves the page, never to another host.
 */
import { createError, isHindsightError } from '../../../errors.ts';
import type { FoundProfile } from '../../../profiler/read/profiles.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { urls } from '../../../urls.ts';
import { cpuFormOf } from '../cpu-form.ts';
import type { PageAction, PageRequest, PageServices } from '../page-services.ts';
import { type Purpose, replayProfile } from './replay-profile.ts';
import {
  type GivenValues,
  isSafe,
  maskedValues,
  prepareReplay,
  type Replay,
  serverUrl,
  signalOf,
} from './replay-request.ts';
import { requireFormProfile } from '../require-profile.ts';
import { createAnswers } from '../respond.ts';
import { createSignedAction } from '../signed-action.ts';
import { hasValues, NO_VALUES, waitForValues } from '../values-form.ts';

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

export function createReplayController(services: PageServices): Record<'replay' | 'values', PageAction> {
  const { forms, cpu, replay: allowed } = services;
  const { html, redirect } = createAnswers(services);
  const action = createSignedAction(services);

  async function show(
    page: PageRequest,
    { profile }: FoundProfile,
    state: { replay: Replay; purpose: Purpose; caught: boolean } | { problem: string },
  ): Promise<'responded'> {
    const csrf = await forms.sign();
    const model = {
      title: 'Request again',
      profile,
      replay: null,
      purpose: 'compare',
      caught: false,
      problem: null,
      ...state,
      csrf,
    };
    const status = 'problem' in state ? 400 : 200;
    await html(page, 'profiler/replay', model, status);
    return 'responded';
  }

  async function send(form: URLSearchParams, page: PageRequest, wanted: Purpose): Promise<'responded'> {
    if (allowed === 'off')
      throw createError('BAD_REQUEST', ['PROFILER_REPLAY is off, so no request is sent again.']);
    const before = await requireFormProfile(services, form);
    const purpose = wanted === 'cpu' && cpuFormOf(before.profile, cpu) === null ? 'compare' : wanted;
    const caught = form.get('caught') === 'yes';
    try {
      const given = givenValues(form, before.profile);
      const prepared = prepareReplay(before.profile, given);
      const isSure = form.get('sure') === 'yes';
      const asks = form.get('ask') === 'yes' || !isSafe(before.profile);
      if (prepared.missing.length > 0 || (asks && !isSure))
        return await show(page, before, { replay: prepared, purpose, caught });
      const { status, after } = await replayProfile(services, before, {
        purpose,
        caught,
        given,
        server: serverUrl(page.req),
        signal: signalOf(page.res),
      });
      if (after === null)
        return await show(page, before, { problem: `The response was ${status}. It was not recorded.` });
      if (purpose === 'values' && !hasValues(after.profile))
        return await show(page, before, { problem: NO_VALUES });
      const { token } = after.profile;
      // One that is sampled or stopped is slower, so a comparison says little.
      const target =
        purpose === 'compare'
          ? urls.compare({ a: before.profile.token, b: token })
          : urls.profile(token, purpose === 'cpu' ? 'cpu' : 'exception');
      redirect(page, target, 303);
      return 'responded';
    } catch (error) {
      if (!isHindsightError(error) || error.code !== 'BAD_REQUEST') throw error;
      return await show(page, before, { problem: error.message });
    }
  }

  async function readValues(form: URLSearchParams, page: PageRequest): Promise<'responded' | undefined> {
    if (form.get('wait') !== 'yes') return send(form, page, 'values');
    const { profile } = await requireFormProfile(services, form);
    waitForValues(services, profile, form.get('caught') === 'yes');
    return undefined;
  }

  return {
    replay: action((form, page) => send(form, page, form.get('cpu') === 'yes' ? 'cpu' : 'compare')),
    values: action(readValues),
  };
}
