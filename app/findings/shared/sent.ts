/** What a client got: the parsed body, or the values that a page was made from. */
import { parseBeginning } from '../../panels/shared/json-leaves.ts';
import type { Json } from '../../profiler/json.ts';
import type { Kept } from './kept.ts';

export function sentValues({ request, views }: Partial<Pick<Kept, 'request' | 'views'>>): Json[] {
  const body = parseBeginning(request?.response?.text ?? '')?.value;
  const locals = (views?.views ?? []).flatMap((view) => (view.depth === 0 ? [view.locals] : []));
  return body === undefined ? locals : [body, ...locals];
}
