/** A header that one layer set and another one replaced, so that the first value was lost. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { type HeaderStep, readAuthors } from '../panels/shared/header-authors.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { layerAt, nameOfLayer, sentNames } from './shared/http.ts';

/** Headers that hold lists: a later value must include the earlier ones. */
const LISTS = new Set(['set-cookie', 'vary', 'link', 'server-timing', 'access-control-expose-headers']);
/** Policies: only the last value counts. */
const POLICIES = new Set([
  'content-security-policy', 'strict-transport-security', 'x-frame-options', 'referrer-policy', 'cache-control',
  'access-control-allow-origin', 'permissions-policy',
]); // prettier-ignore

interface Overwritten {
  name: string;
  by: HeaderStep;
  before: HeaderStep;
  index: number;
}

function overwrittenIn(request: KeptRequest): Overwritten[] {
  const { sent } = readAuthors(request.response?.setBy);
  return sentNames(request).flatMap((name, index) => {
    const steps = sent[index] ?? [];
    const at = steps.findIndex(({ verb }) => verb === 'changed');
    const by = steps[at];
    const before = steps[at - 1];
    return by === undefined || before === undefined ? [] : [{ name, by, before, index }];
  });
}

export const headerOverwritten: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'header-overwritten',
  needs: ['request', 'routing'],
  labels: ['lost header', 'overwritten'],
  why: 'Two middleware functions or handlers called `setHeader` for the same header, and the later value does not contain the earlier one.',
  fix: 'Append to list headers (`res.append`, `res.vary`, `res.cookie`) instead of setting them, and set each policy in one place.',
  find({ request, routing }, { status }) {
    // An error page replaces headers on purpose.
    if (request.response?.setBy?.includes('c') !== true || status === null || status >= 400) return [];
    return overwrittenIn(request).flatMap(({ name, by, before, index }): FindingDraft[] => {
      const isList = LISTS.has(name.toLowerCase());
      if (!isList && !POLICIES.has(name.toLowerCase())) return [];
      const [first, second] = [layerAt(routing, before.layer), layerAt(routing, by.layer)];
      // Without knowing who set the header there is nothing to report.
      if (first === undefined || second === undefined || second.kind === 'error') return [];
      const sentence = `${nameOfLayer(second)} overwrote ${name}, set by ${nameOfLayer(first)}: 1 of 2 values was sent`;
      return [
        {
          label: isList ? 'lost header' : 'overwritten',
          severity: isList ? 'warn' : 'info',
          sentence,
          anchor: `rh-${index + 1}`,
          place: second.source,
        },
      ];
    });
  },
};
