/** State changes: pin, unpin, clear, cpu, full, pause, resume. */
import { createError } from '../../errors.ts';
import { pathsOf } from '../../profiler/route-in-full.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { formToken, requireFormProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';
import { createSignedAction } from './signed-action.ts';
import { createUnknownTokenError } from './unknown-token.ts';

export function createActionsController(
  services: PageServices,
): Record<'pin' | 'unpin' | 'clear' | 'cpu' | 'inFull' | 'pause' | 'resume', PageAction> {
  const { profiles, forms, recording, routeInFull, cpu } = services;
  const { html } = createAnswers(services);
  const action = createSignedAction(services);

  async function setPin(form: URLSearchParams, yes: boolean): Promise<undefined> {
    const token = formToken(form);
    if (!(await profiles.keep(token, yes))) throw await createUnknownTokenError(services, token);
  }

  /** The next request to the address of a recorded one is sampled. */
  async function armCpu(form: URLSearchParams): Promise<undefined> {
    const { profile } = await requireFormProfile(services, form);
    if (profile.kind !== 'request' || cpu === undefined || cpu.isOff)
      throw createError('BAD_REQUEST', ['CPU profiles are off (PROFILER_CPU), or this is not a request.']);
    cpu.arm(profile);
  }

  /** The next requests of the route of a recorded one. */
  async function recordRoute(form: URLSearchParams): Promise<undefined> {
    const { profile } = await requireFormProfile(services, form);
    const { method, route } = profile;
    if (profile.kind !== 'request' || route === null || pathsOf(route) === null)
      throw createError('BAD_REQUEST', ['The form names no request with a route.']);
    await routeInFull.start({ method, route });
  }

  return {
    pin: action((form) => setPin(form, true)),
    unpin: action((form) => setPin(form, false)),
    clear: action(async (form, page) => {
      if (form.get('sure') !== 'yes') {
        const model = { title: 'Delete profiles', csrf: await forms.sign() };
        html(page, 'profiler/clear', model);
        return 'responded';
      }
      await profiles.clear();
      return undefined;
    }),
    cpu: action(armCpu),
    inFull: action(recordRoute),
    pause: action(async () => {
      await recording.pause();
      return undefined;
    }),
    resume: action(async () => {
      await recording.resume();
      return undefined;
    }),
  };
}
