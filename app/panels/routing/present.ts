import type { Figure, Presentation, Row, Section } from '../../profiler/rows.ts';
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
    { label: 'Middleware run', value: ran },
    { label: 'Matched after', value: matchedMs, unit: 'ms' },
    { label: 'Routes', value: routes === null ? null : routes.length + routesDropped },
  ];
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

const ROUTE_COLUMNS = { label: 'Methods', text: 'Path', note: 'Why not', place: 'Defined at' };

function traceRow({ number, kind, label, handler, happened, tone, ms, source }: TraceRow): Row {
  const said = handler === null ? label : `${label} ${handler}`;
  const isRun = tone !== 'off' && tone !== 'near' && kind !== 'route';
  return {
    label: number,
    text: said,
    number: ms,
    tone: tone === 'bad' ? 'bad' : 'plain',
    note: happened,
    place: source,
    ...(isRun ? { key: said } : {}),
  };
}

export function presentRouting(data: RoutingData): Presentation {
  const { route, nearest, trace, traceDropped, routes, routesDropped } = data;
  const sections: Section[] = [
    {
      id: 'parameters',
      title: 'Route parameters',
      rows: (route?.params ?? []).map(({ name, value }) => ({ label: name, text: value })),
    },
    {
      id: 'nearest',
      title: 'Closest routes',
      columns: ROUTE_COLUMNS,
      rows: nearest.map(routeRow),
      ...(route === null ? { card: 'in order' as const } : {}),
    },
    {
      id: 'match',
      title: 'Middleware',
      columns: { label: 'No', text: 'Middleware', note: 'What happened', place: 'Defined at' },
      rows: trace.map(traceRow),
      left: traceDropped,
    },
    {
      id: 'routes',
      title: 'All routes',
      columns: ROUTE_COLUMNS,
      rows: (routes ?? []).map(routeRow),
      left: routesDropped,
      // If a route matched, the others are noise in an issue.
      ...(route === null ? {} : { inMarkdown: false as const }),
    },
  ];
  return { lead: leadOf(data), figures: figuresOf(data), sections };
}
