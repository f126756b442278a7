import type { Figure, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import type { RouteGroup, RoutingData, TraceRow } from './data.ts';

function leadOf({ route, allow, secondTry, redirect }: RoutingData): string[] {
  return [
    route === null ? 'No route matched.' : '',
    redirect === null ? '' : `Redirected (${redirect.status}) to ${redirect.location}.`,
    allow.length === 0 ? '' : `The path exists for ${allow.join(', ')} only.`,
    secondTry === null
      ? ''
      : `Tried again as ${secondTry.path}: ${secondTry.matched ? 'that matched' : 'no route either'}.`,
  ].filter((sentence) => sentence !== '');
}

function figuresOf({ route, ran, matchedMs, routes, routesDropped }: RoutingData): Figure[] {
  return [
    { label: 'Route', value: route === null ? 'none' : `${route.method} ${route.pattern}` },
    { label: 'Handler', value: route?.handler ?? null },
    { label: 'Defined at', value: route?.source ?? null, isPlace: true },
    { label: 'Middleware and handlers run', value: ran },
    { label: 'Matched after', value: matchedMs, unit: 'ms' },
    { label: 'Routes', value: routes === null ? null : routes.length + routesDropped },
  ];
}

function isSame(a: RouteGroup, b: RouteGroup): boolean {
  return a.pattern === b.pattern && a.handler === b.handler && a.source === b.source;
}

function responded({ methods, pattern }: RouteGroup, { route }: RoutingData): boolean {
  if (route?.pattern !== pattern) return false;
  return methods.includes(route.method) || methods.includes('*');
}

function routeRow({ name, methods, pattern, handler, source, why }: RouteGroup): Row {
  return {
    label: methods.join(', '),
    text: pattern,
    note: why,
    place: source,
    fields: [
      { label: 'Name', value: name },
      { label: 'Handler', value: handler },
    ],
  };
}

/** Each route once: those that may have been meant, with all their methods, then the others in the order in which they are tried. */
function routeSections(data: RoutingData): Section[] {
  const { route, nearest, routesDropped } = data;
  const routes = data.routes ?? [];
  const near = nearest.filter((group, index) => nearest.findIndex((one) => isSame(one, group)) === index);
  const others = routes.flatMap((group, index) =>
    near.some((one) => isSame(one, group)) ? [] : [{ group, number: index + 1 }],
  );
  const columns = { label: 'Methods', text: 'Path', note: 'Why it did not match', place: 'Source' };
  return [
    {
      id: 'nearest',
      title: 'Closest routes',
      columns,
      rows: near.map((group, index) => ({
        ...routeRow({
          ...group,
          methods: routes.find((one) => isSame(one, group))?.methods ?? group.methods,
        }),
        id: `near-${index + 1}`,
        mark: 'near',
      })),
      ...(route === null ? { card: 'in order' as const } : {}),
    },
    {
      id: 'routes',
      title: near.length > 0 ? 'Other routes' : 'All routes',
      columns,
      rows: others.map(({ group, number }) => ({
        ...routeRow(group),
        id: `route-${number}`,
        ...(responded(group, data) ? { mark: 'on' as const } : {}),
      })),
      left: routesDropped,
      ...(route === null ? {} : { inMarkdown: false as const }),
    },
  ];
}

function traceRow({ number, kind, label, handler, happened, tone, ms, source }: TraceRow): Row {
  const said = handler === null || handler === 'router' ? label : `${label} ${handler}`;
  const isRun = tone !== 'off' && tone !== 'near' && kind !== 'route';
  return {
    id: `layer-${number}`,
    label: number,
    text: said,
    number: ms,
    tone: tone === 'bad' ? 'bad' : 'plain',
    note: happened,
    place: source,
    ...(tone === 'on' || tone === 'near' ? { mark: tone } : {}),
    ...(isRun ? { key: said } : {}),
  };
}

export function presentRouting(data: RoutingData): Presentation {
  const { route, trace, traceDropped } = data;
  const parameters: Section = {
    id: 'parameters',
    title: 'Route parameters',
    rows: (route?.params ?? []).map(({ name, value }) => ({ label: name, text: value })),
  };
  const matching: Section = {
    id: 'match',
    title: 'Middleware',
    note: 'in the order they ran',
    columns: { label: '#', text: 'Middleware or route', note: 'What happened', place: 'Source' },
    // If none responded, the routes are listed with the reason.
    rows: trace.filter(({ kind }) => route !== null || kind !== 'route').map(traceRow),
    left: traceDropped,
    none: 'No middleware or handler ran.',
  };
  const routes = routeSections(data);
  return {
    lead: leadOf(data),
    figures: figuresOf(data),
    sections: route === null ? [...routes, matching] : [parameters, matching, ...routes],
  };
}
