/** Reads the two panels that error pages show from a snapshot. If a panel failed, the error still has a name and a message. */
import type { Profile } from '../../profiler/profile.ts';
import { EMPTY_LINK, type Thrown } from '../../profiler/thrown.ts';
import { PROFILER_PREFIX, TOKEN_PATTERN } from '../../urls.ts';
import { isRecord } from '../../profiler/json.ts';

export interface ExceptionView {
  errors: { origin: string; thrown: Thrown; [name: string]: unknown }[];
  errorsDropped: number;
  logs: unknown[];
  logsDropped: number;
}

export interface RouteView {
  methods: string[];
  pattern: string;
  handler: string | null;
  source: string | null;
  why: string | null;
}

export interface RoutingView {
  routes: RouteView[] | null;
  routesDropped: number;
  nearest: RouteView[];
  allow: string[];
  trace: { number: string; kind: string; label: string; tone: string; source: string | null }[];
  [name: string]: unknown;
}

function isException(data: unknown): data is ExceptionView {
  return isRecord(data) && Array.isArray(data.errors) && data.errors.length > 0;
}

function isRouting(data: unknown): data is RoutingView {
  return isRecord(data) && Array.isArray(data.allow) && Array.isArray(data.trace);
}

function bareThrown({ error }: Profile): Thrown {
  const link = { ...EMPTY_LINK, class: error?.name ?? 'Error', message: error?.message ?? '' };
  return { chain: [link], chainEnd: 'root' };
}

/** The error that this page answers comes first; other errors of the request follow. */
export function readException(profile: Profile, status: number): ExceptionView {
  const data = profile.panels.exception?.data;
  if (isException(data)) {
    const answered = data.errors.findLast(({ origin }) => origin === 'handled' || origin === 'parser');
    if (answered === undefined) return data;
    return { ...data, errors: [answered, ...data.errors.filter((record) => record !== answered)] };
  }
  const record = {
    origin: 'handled',
    atMs: 0,
    late: false,
    status,
    thrown: bareThrown(profile),
    place: null,
  };
  return { errors: [record], errorsDropped: 0, logs: [], logsDropped: 0 };
}

export function readRouting(profile: Profile): RoutingView {
  const data = profile.panels.routing?.data;
  if (isRouting(data)) return data;
  const nothing = {
    trace: [],
    traceDropped: 0,
    routesDropped: 0,
    nearest: [],
    secondTry: null,
    redirect: null,
    route: null,
  };
  return { ...nothing, routes: null, allow: [] };
}

export function requestedToken(url: string): string | null {
  const [prefix, token = ''] = url.slice(1).split(/[/?#]/, 2);
  return `/${prefix ?? ''}` === PROFILER_PREFIX && TOKEN_PATTERN.test(token) ? token : null;
}
