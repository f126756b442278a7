/**
 * What a snapshot holds of the two panels that the error pages show. A panel that failed, or was left out, costs its
 * part only: the error is then known by its name and message.
 */
import type { Profile } from '../../profiler/profile.ts';
import type { Thrown } from '../../profiler/thrown.ts';
import { PROFILER_PREFIX, TOKEN_PATTERN } from '../../urls.ts';

/** As far as it is read here; the view shows the rest. */
export interface ExceptionView {
  errors: { origin: string; thrown: Thrown; [name: string]: unknown }[];
  errorsCut: number;
  logs: unknown[];
  logsCut: number;
}

export interface RoutingView {
  routes: unknown[] | null;
  allow: string[];
  [name: string]: unknown;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isException(data: unknown): data is ExceptionView {
  return isRecord(data) && Array.isArray(data.errors) && data.errors.length > 0;
}

function isRouting(data: unknown): data is RoutingView {
  return isRecord(data) && Array.isArray(data.allow) && Array.isArray(data.trace);
}

/** Name and message only, where the panel could not tell more. */
function bareThrown({ error }: Profile): Thrown {
  const link = {
    class: error?.name ?? 'Error',
    isError: true,
    message: error?.message ?? '',
    messageCut: 0,
    code: null,
    status: null,
    properties: {},
    frames: [],
    framesCut: 0,
    errors: [],
    errorsCut: 0,
  };
  return { chain: [link], chainEnd: 'root' };
}

/** The error that is answered now comes first; what else went wrong in the request follows. */
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
  return { errors: [record], errorsCut: 0, logs: [], logsCut: 0 };
}

export function readRouting(profile: Profile): RoutingView {
  const data = profile.panels.routing?.data;
  if (isRouting(data)) return data;
  const nothing = {
    trace: [],
    traceCut: 0,
    routesCut: 0,
    nearest: [],
    secondTry: null,
    redirect: null,
    route: null,
  };
  return { ...nothing, routes: null, allow: [] };
}

/** The token that a URL of the profiler names; null where it names none. */
export function askedToken(url: string): string | null {
  const [prefix, token = ''] = url.slice(1).split(/[/?#]/, 2);
  return `/${prefix ?? ''}` === PROFILER_PREFIX && TOKEN_PATTERN.test(token) ? token : null;
}
