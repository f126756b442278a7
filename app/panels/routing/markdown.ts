/** The routing panel as Markdown: which route answered, or the nearest ones, and how it was matched. */
import { blocks, code, heading, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { RouteGroup, RoutingData } from './index.ts';

const { count, durationText } = numberHelpers;

function routesOf(title: string, routes: readonly RouteGroup[]): string {
  if (routes.length === 0) return '';
  const rows = table<RouteGroup>(
    [
      { title: 'Methods', value: ({ methods }) => methods.join(' ') },
      { title: 'Path', value: ({ pattern }) => pattern },
      { title: 'Why not', value: ({ why }) => why, plain: true },
      { title: 'Source', value: ({ source }) => source },
    ],
    routes,
  );
  return blocks([heading(3, title), rows]);
}

export function routingMarkdown(data: RoutingData): string {
  const { route, nearest, secondTry, redirect, allow, trace, traceCut, routes } = data;
  const facts = [
    route === null ? 'No route answered.' : `Answered by ${code(route.pattern)}.`,
    allow.length === 0 ? '' : `The path exists for ${code(allow.join(', '))} only.`,
    secondTry === null
      ? ''
      : `Tried again as ${code(secondTry.path)}: ${secondTry.matched ? 'it matched' : 'no route either'}.`,
    redirect === null ? '' : `Redirected (${redirect.status}) to ${code(redirect.location)}.`,
  ];
  const rows = table<RoutingData['trace'][number]>(
    [
      { title: 'No', value: ({ number }) => String(number), plain: true },
      { title: 'Layer', value: ({ label }) => label },
      { title: 'What happened', value: ({ happened }) => happened, plain: true },
      { title: 'Time', value: ({ ms }) => (ms === null ? null : durationText(ms)), plain: true },
      { title: 'Source', value: ({ source }) => source },
    ],
    trace,
  );
  return blocks([
    facts.filter((text) => text !== '').join(' '),
    routesOf('Nearest routes', nearest),
    rows === '' ? '' : blocks([heading(3, 'How it was matched'), rows]),
    traceCut > 0 ? `${count(traceCut, 'more layer')} left out.` : '',
    route === null ? routesOf('All routes', routes ?? []) : '',
  ]);
}
