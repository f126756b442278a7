/** Code that an error page suggests, and where it belongs. */
import type { CodeLine } from '../../view-helpers/code.ts';
import { excerptLines } from '../../view-helpers/source.ts';
import type { RoutingData, TraceRow } from '../../panels/routing/data.ts';

const PLAIN_PATH = /^\/[\w\-./~]{0,80}$/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function routeLines(owner: string, method: string, path: string): readonly CodeLine[] | null {
  if (!PLAIN_PATH.test(path) || !METHODS.has(method)) return null;
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const lines = [`${owner}.${name}('${path}', (req, res) => {`, "  res.send('…');", '});'];
  return excerptLines({ from: 1, lines }, { line: null, column: null });
}

interface Home {
  mount: string | null;
  say: string;
  place: string | null;
}

function isRoute({ kind }: TraceRow): boolean {
  return kind === 'route' || kind === 'handler';
}

/** `router /api` -> `/api`. */
function mountOf({ label }: TraceRow): string {
  return label.replace(/^\S+ /, '');
}

function depthOf({ number }: TraceRow): number {
  return number.split('.').length;
}

function enteredRouters(trace: readonly TraceRow[]): { mount: string; routes: TraceRow[] }[] {
  return trace
    .filter((row) => row.kind === 'router' && row.tone !== 'off' && mountOf(row).startsWith('/'))
    .map((row) => ({
      mount: mountOf(row),
      routes: trace.filter(
        (inner) =>
          inner.number.startsWith(`${row.number}.`) &&
          depthOf(inner) === depthOf(row) + 1 &&
          isRoute(inner) &&
          inner.source !== null,
      ),
    }))
    .filter(({ routes }) => routes.length > 0)
    .sort((a, b) => a.mount.length - b.mount.length);
}

function besideRoute(trace: readonly TraceRow[]): Home | null {
  const near = trace.find((row) => isRoute(row) && row.tone === 'near' && row.source !== null);
  if (near === undefined) return null;
  const outer = near.number.replace(/\.?\d+$/, '');
  const router = trace.find(({ number }) => number === outer);
  return {
    mount: router === undefined ? null : mountOf(router),
    say: 'Next to the route with this path',
    place: near.source,
  };
}

function isService(trace: readonly TraceRow[]): boolean {
  return trace.some(({ label }) => label === 'optionsRule');
}

function homeOf({ trace, allow }: RoutingData): Home {
  const beside = allow.length > 0 ? besideRoute(trace) : null;
  if (beside !== null) return beside;
  const router = enteredRouters(trace).at(-1);
  if (router !== undefined) {
    const say = `In the router mounted at ${router.mount}, after its last route`;
    return { mount: router.mount, say, place: router.routes.at(-1)?.source ?? null };
  }
  if (isService(trace)) return { mount: '/', say: 'In a router listed in app/routes/index.ts', place: null };
  const own = trace.findLast((row) => isRoute(row) && depthOf(row) === 1 && row.source !== null);
  if (own !== undefined)
    return { mount: null, say: 'In the application, after its last route', place: own.source };
  const last = trace.find(({ label, source }) => label === 'notFound' && source !== null);
  return { mount: null, say: 'In the application, before its 404 page', place: last?.source ?? null };
}

function pathBelow(mount: string, path: string): string {
  const depth = mount.split('/').filter(Boolean).length;
  return depth === 0
    ? path
    : `/${path
        .split('/')
        .slice(depth + 1)
        .join('/')}`;
}

export function hasNoRouter({ trace }: RoutingData): boolean {
  return isService(trace) && enteredRouters(trace).length === 0;
}

export interface SuggestedRoute {
  lines: readonly CodeLine[];
  say: string;
  place: string | null;
}

export function suggestRoute(method: string, path: string, routing: RoutingData): SuggestedRoute | null {
  const { mount, say, place } = homeOf(routing);
  const lines = routeLines(
    mount === null ? 'app' : 'router',
    method,
    mount === null ? path : pathBelow(mount, path),
  );
  return lines === null ? null : { lines, say, place };
}

export const welcomeRouter: readonly string[] = [
  "import { Router } from 'express';",
  '',
  "export const home = () => Router().get('/', (req, res) => { res.send('Hello'); });",
];

export const welcomeEntry: readonly string[] = [
  "import { home } from './home.ts';",
  '',
  "export const routes: readonly RouteEntry[] = [{ mount: '/', router: home, parsers: 'after' }];",
];
