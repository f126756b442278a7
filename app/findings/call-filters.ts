/** A filter that a called service did not apply. Sentences have names, never values. */
import { listsIn } from '../panels/shared/json-leaves.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { callName } from './shared/calls.ts';
import type { Call, Needs, Rule } from './shared/kept.ts';
import { textOf } from './shared/queries.ts';
import { count, excerpt } from './shared/wording.ts';

/** Of these, others than the one that was asked for may be what was meant: a limit, a fallback. */
const NOT_EQUAL =
  /lang|locale|currency|date|time|day|month|year|from|to$|since|until|before|after|min|max|price|amount|radius|near|sort|order|page|limit|offset|size|count|^q$|query|search/i;
const OF_LIST = /(?:\[\d*\])+$/;

/** Query parameters of a call with the values asked for; `zone[]` and `zone[0]` mean `zone`. */
function askedIn({ url }: Call): Map<string, { as: string; values: Set<string> }> {
  const asked = new Map<string, { as: string; values: Set<string> }>();
  for (const [as, value] of new URLSearchParams(url.split('?')[1] ?? '')) {
    const name = as.replace(OF_LIST, '');
    const known = asked.get(name) ?? { as, values: new Set() };
    for (const one of value.split(',')) known.values.add(one.trim());
    asked.set(name, known);
  }
  return asked;
}

/** The one list of objects in a whole body; empty: there is none. */
function itemsIn({ responseBody }: Call): Record<string, Json>[] {
  const [items = [], ...others] = responseBody?.truncated === false ? listsIn(responseBody.text ?? '') : [];
  if (others.length > 0) return [];
  return items.every((item) => isRecord(item)) ? items : [];
}

function isPlainFilter(values: ReadonlySet<string>, name: string, as: string): boolean {
  if (NOT_EQUAL.test(name) || isMasked([...values].join(' '))) return false;
  return as !== name || values.size > 1 || [...values].every((value) => /^[a-z][\w-]*$/i.test(value));
}

export const callFilterIgnored: Rule<Needs<'http_client'>> = {
  name: 'call-filter-ignored',
  needs: ['http_client'],
  labels: ['filter ignored'],
  why: 'A GET asked for values of a field by a query parameter of its name. The whole body of its response was recorded: some items have one of the values, and others have another one.',
  fix: 'Send the parameter as the service reads it. Axios writes lists as `zone[]=a&zone[]=b`, which many services do not know: `paramsSerializer: { indexes: null }` repeats the plain name.',
  find({ http_client: { calls } }) {
    return calls.flatMap((call, index): FindingDraft[] => {
      const items = call.method === 'GET' && call.status === 200 && call.error === null ? itemsIn(call) : [];
      if (items.length < 2) return [];
      for (const [name, { as, values }] of askedIn(call)) {
        const texts = items.map((item) => textOf(item[name]));
        const others = texts.filter((text) => text !== null && !values.has(text)).length;
        const isField = texts.every((text) => text !== null && !isMasked(text));
        if (!isField || others === 0 || others === items.length || !isPlainFilter(values, name, as)) continue;
        const sent = as === name ? '' : ` (sent as ${excerpt(as, 40)})`;
        const sentence = `${callName(call)} asked for ${count(values.size, 'value')} of ${excerpt(name, 40)}${sent}, but ${others} of ${count(items.length, 'item')} in its response have another one: the service did not apply the filter`;
        const at = { anchor: `c${index + 1}`, place: call.caller };
        return [{ broke: 'unseen', severity: 'warn', sentence, ...at }];
      }
      return [];
    });
  },
};
