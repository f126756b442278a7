/**
 * Actions that change state: each is a POST of a signed form from the same origin, followed by a 303 back to the page. There is no
 * cookie to forge: another site lacks the signature and can't fake its origin.
 */
import type { IncomingMessage } from 'node:http';
import { createError } from '../../errors.ts';
import { PROFILER_PREFIX, urls } from '../../urls.ts';
import { readForm } from './form-body.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createAnswers } from './respond.ts';

/** Whether a state change comes from a page of the same origin: by Sec-Fetch-Site; without it (plain HTTP, older browsers), by Origin. */
export function isSameOrigin({ headers }: IncomingMessage, origin: string | null): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== null && headers.origin === origin;
}

const LONGEST_BACK = 4000;

function backOf(form: URLSearchParams): string {
  const base = 'http://profiler';
  const given = form.get('back') ?? '';
  if (!URL.canParse(given, base)) return urls.home();
  const { origin, pathname, search, hash } = new URL(given, base);
  const isOurs = origin === base && pathname.startsWith(`${PROFILER_PREFIX}/`);
  const back = `${pathname}${search}${hash}`;
  return isOurs && !pathname.startsWith(urls.action('')) && back.length <= LONGEST_BACK ? back : urls.home();
}

type Work<Result> = (form: URLSearchParams, page: PageRequest) => Promise<Result>;

type SignedAction = (work: Work<'responded' | undefined> | Work<void>) => PageAction;

export function createSignedAction(services: PageServices): SignedAction {
  const { redirect } = createAnswers(services);
  return (work) => async (page) => {
    if (!isSameOrigin(page.req, page.origin())) throw createError('CROSS_SITE', []);
    const form = await readForm(page.req);
    if (!(await services.forms.holds(form.get('csrf') ?? ''))) throw createError('FORM_EXPIRED', []);
    if ((await work(form, page)) !== 'responded') redirect(page, backOf(form), 303);
  };
}
