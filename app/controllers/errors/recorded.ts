/** Reads the two panels that error pages show from a snapshot. If a panel failed, the error still has a name and a message. */
import type { ExceptionData, ThrownRecord } from '../../panels/exception/data.ts';
import type { RoutingData } from '../../panels/routing/data.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { Profile } from '../../profiler/profile.ts';
import { EMPTY_LINK } from '../../profiler/record/thrown.ts';
import { PROFILER_PREFIX, TOKEN_PATTERN } from '../../urls.ts';

/** The error that this page answers comes first; other errors of the request follow. */
export function readException(profile: Profile, status: number): ExceptionData {
  const data = dataOf(profile, 'exception');
  if (data !== null && data.errors.length > 0) {
    const answered = data.errors.findLast(({ origin }) => origin === 'handled' || origin === 'parser');
    if (answered === undefined) return data;
    return { ...data, errors: [answered, ...data.errors.filter((record) => record !== answered)] };
  }
  const { name = 'Error', message = '' } = profile.error ?? {};
  const thrown: ThrownRecord['thrown'] = {
    chain: [{ ...EMPTY_LINK, class: name, message }],
    chainEnd: 'root',
  };
  const record: ThrownRecord = { origin: 'handled', atMs: 0, late: false, status, thrown, place: null };
  return { errors: [record], errorsDropped: 0, logs: [], logsDropped: 0 };
}

const NO_ROUTING: RoutingData = {
  asked: { method: '', path: '' },
  trace: [],
  traceDropped: 0,
  ran: 0,
  route: null,
  matchedMs: null,
  routes: null,
  routesDropped: 0,
  nearest: [],
  secondTry: null,
  redirect: null,
  allow: [],
};

export function readRouting(profile: Profile): RoutingData {
  return dataOf(profile, 'routing') ?? NO_ROUTING;
}

export function requestedToken(url: string): string | null {
  const [prefix, token = ''] = url.slice(1).split(/[/?#]/, 2);
  return `/${prefix ?? ''}` === PROFILER_PREFIX && TOKEN_PATTERN.test(token) ? token : null;
}
