/**
 * State changes: pin, unpin, clear, pause, resume. Each is a POST of a signed form from the same origin, followed by a 303 back
 * to the page. There is no cookie to forge: another site lacks the signature and can't fake its origin.
 */
import { createError } from '../../errors.ts';
import { PROFILER_PREFIX, TOKEN_PATTERN, urls } from '../../urls.ts';
import { readForm } from './form-body.ts';
import { isSameOrigin } from './same-origin.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createRespond, HTML, redirect } from './respond.ts';
import { createUnknownTokenError } from './unknown-token.ts';

/** Longer than any address of these pages. */
const LONGEST_BACK = 4000;

/** The page of the profiler that the form names, otherwise the list. */
function backOf(form: URLSearchParams): string {
  const base = 'http://profiler';
  const given = form.get('back') ?? '';
  if (!URL.canParse(given, base)) return urls.home();
  const { origin, pathname, search, hash } = new URL(given, base);
  const isOurs = origin === base && pathname.startsWith(`${PROFILER_PREFIX}/`);
  const back = `${pathname}${search}${hash}`;
  return isOurs && !pathname.startsWith(urls.action('')) && back.length <= LONGEST_BACK ? back : urls.home();
}

export function createActionsController(
  services: PageServices,
): Record<'pin' | 'unpin' | 'clear' | 'pause' | 'resume', PageAction> {
  const { profiles, forms, recording, renderPage, foot } = services;
  const respond = createRespond(services);

  /** Runs the action, then redirects back, unless the action has sent a response itself. */
  function action(
    work: (form: URLSearchParams, page: PageRequest) => Promise<'responded' | undefined>,
  ): PageAction {
    return async (page) => {
      if (!isSameOrigin(page.req, page.origin())) throw createError('CROSS_SITE', []);
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
        const model = { title: 'Delete profiles', csrf: await forms.sign(), foot };
        respond(page, { type: HTML, body: renderPage('profiler/clear', model) });
        return 'responded';
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
