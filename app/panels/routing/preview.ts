/** What the toolbar shows of the way to the route. */
import type { PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { RoutingData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';

export function previewRouting({ route, matchedMs, redirect, nearest, allow }: RoutingData): PanelPreview {
  const facts: (readonly [string, string])[] = [];
  if (route !== null) {
    facts.push(['Route', `${route.method} ${route.pattern}`]);
    const handler = noteOf(route.handler, route.source);
    if (handler !== '') facts.push(['Handler', handler]);
    for (const { name, value } of route.params)
      facts.push([`:${name}`, typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  if (matchedMs !== null) facts.push(['Reached after', numberHelpers.durationText(matchedMs)]);
  if (redirect !== null) facts.push(['Redirected to', redirect.location]);
  if (allow.length > 0) facts.push(['The path exists for', allow.join(', ')]);
  return {
    ...(route === null ? {} : { text: route.pattern }),
    facts,
    ...firstRows(route === null ? nearest : [], ({ methods, pattern, why }) => ({
      text: `${methods.join(', ')} ${pattern}`,
      note: why ?? '',
    })),
  };
}
