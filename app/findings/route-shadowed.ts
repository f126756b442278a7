/** A route with parameters answered a path that a later route has literally. */
import type { KeptRouting, SharedRoutes } from '../panels/routing/data.ts';
import { fromLayerRow } from '../panels/shared/layer-rows.ts';
import { pathOf } from '../profiler/request-target.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { brokeBy } from './shared/wording.ts';

/** Its last handler called `next()`, so that something else responded. */
function passedOn({ layers }: KeptRouting, pattern: string): boolean {
  return (
    layers.map(fromLayerRow).findLast((layer) => layer.kind === 'handler' && layer.pattern === pattern)
      ?.outcome === 'next'
  );
}

function isSamePath(pattern: string, path: string): boolean {
  return pattern.toLowerCase().replace(/\/$/, '') === path.toLowerCase().replace(/\/$/, '');
}

/** `/users/:id` for `/users/me`. A wildcard that succeeds may be a cache or a fallback. */
function isParameterFor(pattern: string, path: string): boolean {
  const given = path.split('/');
  const segments = pattern.split('/');
  return (
    segments.length === given.length &&
    segments.every((segment, index) => segment.startsWith(':') || isSamePath(segment, given[index] ?? ''))
  );
}

export const routeShadowed: FindingRule<{ routing: KeptRouting }> = {
  name: 'route-shadowed',
  needs: ['routing'],
  labels: ['shadowed route'],
  why: 'The route that responded has parameters, and a route registered after it has exactly this path and method.',
  fix: 'Register routes with literal paths before those with parameters (`/orders/recent` before `/orders/:id`).',
  find({ routing }, { method, status, url }, { shared }) {
    const { route } = routing;
    if (status === null || route === null || shared.routing === undefined || passedOn(routing, route.pattern))
      return [];
    const path = pathOf(url);
    if (isSamePath(route.pattern, path)) return [];
    if (status < 400 && !isParameterFor(route.pattern, path)) return [];
    const { routes } = shared.routing as SharedRoutes;
    const at = routes.findIndex(({ pattern }) => pattern === route.pattern);
    const later = routes
      .slice(at + 1)
      .find(
        ({ pattern, methods }) =>
          isSamePath(pattern, path) && methods.some((one) => one === method || one === '*'),
      );
    if (at === -1 || later === undefined) return [];
    const sentence = `${route.method} ${route.pattern} answered ${status}; ${method} ${later.pattern} also matches, but is registered after it`;
    const place = later.source ?? route.source;
    return [{ broke: brokeBy(status), severity: 'warn', sentence, anchor: 'match', place }];
  },
};
