/**
 * "Explain": the plan of one recorded statement, made now on a connection of the application's pool. Without values that are masked it is
 * the generic plan. To measure runs the statement, so it is for a single SELECT, and after a page that asks.
 */
import { createError } from '../../errors.ts';
import type { KeptPlans } from '../../profiler/query-plan.ts';
import { urls } from '../../urls.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { requireFormProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';
import { createSignedAction } from './signed-action.ts';

export function createExplainController(services: PageServices): { explain: PageAction } {
  const { forms, profiles, explain } = services;
  const { html, redirect } = createAnswers(services);
  const action = createSignedAction(services);

  async function run(form: URLSearchParams, page: PageRequest): Promise<'responded'> {
    if (explain === undefined) throw createError('BAD_REQUEST', ['This process can’t explain statements.']);
    const { profile, amendments } = await requireFormProfile(services, form);
    const { token } = profile;
    const index = Number(form.get('query'));
    const analyze = form.get('analyze') === 'yes';
    const made = await explain.plan(profile, index, { analyze, isSure: form.get('sure') === 'yes' });
    if ('sql' in made) {
      const status = made.problem === null ? 200 : 400;
      const model = { title: 'Explain a statement', token, index, csrf: await forms.sign(), ...made };
      html(page, 'profiler/explain', model, status);
      return 'responded';
    }
    const before = (amendments.plan as KeptPlans | undefined)?.plans ?? [];
    const plans = [...before.filter((plan) => plan.query !== index), { query: index, ...made }];
    await profiles.amend(token, 'plan', { plans });
    redirect(page, urls.profileRow(token, 'database', `p${index + 1}`), 303);
    return 'responded';
  }

  return { explain: action(run) };
}
