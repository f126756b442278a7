/** State changes: pin, unpin, clear, cpu, full, pause, resume, explain. */
import { createError } from '../../errors.ts';
import { pathsOf } from '../../profiler/record/route-in-full.ts';
import { armCpu } from './cpu-form.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createUnknownTokenError, formToken, requireFormProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';
import { createSignedAction } from './signed-action.ts';
import type { KeptPlans } from '../../profiler/read/query-plan.ts';
import { urls } from '../../urls.ts';

export function createActionsController(
  services: PageServices,
): Record<'pin' | 'unpin' | 'clear' | 'cpu' | 'full' | 'pause' | 'resume' | 'explain', PageAction> {
  const { profiles, forms, recording, routeInFull, cpu, explain } = services;
  const { html, redirect } = createAnswers(services);
  const action = createSignedAction(services);

  async function setPin(form: URLSearchParams, yes: boolean): Promise<void> {
    const token = formToken(form);
    if (!(await profiles.keep(token, yes))) throw await createUnknownTokenError(services, token);
  }

  async function recordRoute(form: URLSearchParams): Promise<void> {
    const { profile } = await requireFormProfile(services, form);
    const { method, route } = profile;
    if (profile.kind !== 'request' || route === null || pathsOf(route) === null)
      throw createError('BAD_REQUEST', ['The form names no request with a route.']);
    await routeInFull.start({ method, route });
  }

  /**
   * The plan of one recorded statement, made now on a connection of the application's pool. Without values that are masked it is the generic
   * plan. To measure runs the statement, so it is for a single SELECT, and after a page that asks.
   */
  async function planStatement(form: URLSearchParams, page: PageRequest): Promise<'responded'> {
    if (explain === undefined) throw createError('BAD_REQUEST', ['This process can’t explain statements.']);
    const { profile, amendments } = await requireFormProfile(services, form);
    const { token } = profile;
    const index = Number(form.get('query'));
    const analyze = form.get('analyze') === 'yes';
    const made = await explain.plan(profile, index, { analyze, isSure: form.get('sure') === 'yes' });
    if ('sql' in made) {
      const status = made.problem === null ? 200 : 400;
      const model = { title: 'Explain a statement', token, index, csrf: await forms.sign(), ...made };
      await html(page, 'profiler/explain', model, status);
      return 'responded';
    }
    const before = (amendments.plan as KeptPlans | undefined)?.plans ?? [];
    const plans = [...before.filter((plan) => plan.query !== index), { query: index, ...made }];
    await profiles.amend(token, 'plan', { plans });
    redirect(page, urls.profileRow(token, 'database', `p${index + 1}`), 303);
    return 'responded';
  }

  return {
    pin: action((form) => setPin(form, true)),
    unpin: action((form) => setPin(form, false)),
    explain: action(planStatement),
    clear: action(async (form, page) => {
      if (form.get('sure') !== 'yes') {
        const model = { title: 'Delete profiles', csrf: await forms.sign() };
        await html(page, 'profiler/clear', model);
        return 'responded';
      }
      await profiles.clear();
      return undefined;
    }),
    cpu: action(async (form) => {
      armCpu((await requireFormProfile(services, form)).profile, cpu);
    }),
    full: action(recordRoute),
    pause: action(() => recording.pause()),
    resume: action(() => recording.resume()),
  };
}
