/**
 * What changes state, each a POST of a signed form of our own pages: pin and unpin a profile, clear the list, pause and resume
 * recording. Afterwards the browser is sent back to the page it came from (303). There is no cookie, so that what a foreign page
 * lacks is the signature, and what it can't hide is where it is.
 */
import { createError } from '../../errors.ts';
import { PROFILER_PREFIX, TOKEN_PATTERN, urls } from '../../urls.ts';
import { readForm } from './form-body.ts';
import { isOwnPage } from './own-page.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createRespond, HTML, redirect } from './respond.ts';
import { createUnknownTokenError } from './unknown-token.ts';

/** By the names of their addresses. */
export interface ActionsController {
  pin: PageAction;
  unpin: PageAction;
  clear: PageAction;
  pause: PageAction;
  resume: PageAction;
}

/** Longer than any address of our pages; clients refuse longer heads. */
const LONGEST_BACK = 4000;

/** A page of ours as the form names it; else the list. */
function backOf(form: URLSearchParams): string {
  const base = 'http://profiler';
  const given = form.get('back') ?? '';
  if (!URL.canParse(given, base)) return urls.home();
  const { origin, pathname, search, hash } = new URL(given, base);
  const isOurs = origin === base && pathname.startsWith(`${PROFILER_PREFIX}/`);
  const back = `${pathname}${search}${hash}`;
  return isOurs && !pathname.startsWith(urls.action('')) && back.length <= LONGEST_BACK ? back : urls.home();
}

export function createActionsController(services: PageServices): ActionsController {
  const { profiles, forms, recording, renderPage, foot } = services;
  const respond = createRespond(services);

  /** What a form asks for; its answer is the page it came from, unless it has answered by itself. */
  function action(
    work: (form: URLSearchParams, page: PageRequest) => Promise<'answered' | undefined>,
  ): PageAction {
    return async (page) => {
      if (!isOwnPage(page.req, page.origin())) throw createError('CROSS_SITE', []);
      const form = await readForm(page.req);
      if (!(await forms.holds(form.get('csrf') ?? ''))) throw createError('FORM_EXPIRED', []);
      if ((await work(form, page)) === undefined) redirect(respond, page, backOf(form), 303);
    };
  }

  async function setPin(form: URLSearchParams, pin: true | null): Promise<undefined> {
    const token = form.get('token') ?? '';
    if (!TOKEN_PATTERN.test(token)) throw createError('BAD_REQUEST', ['The form names no token.']);
    if (!(await profiles.amend(token, 'pin', pin))) throw await createUnknownTokenError(services, token);
  }

  return {
    pin: action((form) => setPin(form, true)),
    unpin: action((form) => setPin(form, null)),
    clear: action(async (form, page) => {
      if (form.get('sure') !== 'yes') {
        const model = { title: 'Clear the list', csrf: await forms.sign(), foot };
        respond(page, { type: HTML, body: renderPage('profiler/clear', model) });
        return 'answered';
      }
      await profiles.clear();
      return undefined;
    }),
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
