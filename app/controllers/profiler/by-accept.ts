/**
 * One address, three forms: page, JSON or Markdown, as `Accept` says (RFC 9110, 12.5.1). Only a form that is named there replaces the page:
 * wildcards, as most clients send them, ask for the page.
 */
import type { PageAction } from './page-services.ts';
import { addVary } from './vary.ts';

export type Form = 'page' | 'json' | 'markdown';

/** A client that names two forms with one quality gets the first of these. */
const TYPES: readonly (readonly [form: Form, types: readonly string[]])[] = [
  ['page', ['text/html', 'application/xhtml+xml']],
  ['json', ['application/json']],
  ['markdown', ['text/markdown']],
];

/** Quality by media type; a type that is not named is absent. */
function qualitiesOf(accept: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const part of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    qualities.set(type, quality === undefined ? 1 : Number(quality) || 0);
  }
  return qualities;
}

/** `accept`: the header as received. */
export function preferredForm(accept: string | undefined): Form {
  if (accept === undefined) return 'page';
  const qualities = qualitiesOf(accept);
  let best: Form = 'page';
  let most = 0;
  for (const [form, types] of TYPES) {
    const quality = Math.max(0, ...types.map((type) => qualities.get(type) ?? 0));
    if (quality > most) [best, most] = [form, quality];
  }
  return best;
}

/** The forms of one address; each has an address of its own, too. */
export type Forms = Readonly<Record<Form, PageAction>>;

export function byAccept(actions: Forms): PageAction {
  return (page) => {
    addVary(page.res, 'accept');
    return actions[preferredForm(page.req.headers.accept)](page);
  };
}
