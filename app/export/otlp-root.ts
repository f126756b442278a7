/** The span of the request or job itself, with what was thrown as its events. */
import { errorText } from '../profiler/error-text.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { isWork } from '../profiler/record/context.ts';
import type { Thrown, ThrownFrame } from '../profiler/record/thrown.ts';
import { type Attributes, SPAN_KIND } from './otlp-model.ts';
import { dataOf, type ExportedProfile, methodOf, serverOf, type Work } from './otlp-work.ts';

type Root = Omit<Work, 'row' | 'inside' | 'startMs'>;

function placeOf({ function: name, file, line, column }: ThrownFrame): string {
  const place = [file ?? 'native', line, column].filter((part) => part !== null).join(':');
  return name === null ? `    at ${place}` : `    at ${name} (${place})`;
}

/** As Node.js prints it, with its causes. */
function stackOf({ chain }: Thrown): string {
  return chain
    .map(({ class: name, message, frames }, index) =>
      [`${index === 0 ? '' : 'Caused by: '}${name}: ${message}`, ...frames.map(placeOf)].join('\n'),
    )
    .join('\n');
}

/** A logged error is a log record already. */
export function exceptionsOf(profile: ExportedProfile): { atMs: number; attributes: Attributes }[] {
  const { errors = [] } = dataOf(profile, 'exception') ?? {};
  return errors
    .filter(({ origin, thrown }) => origin !== 'logged' && thrown.chain.length > 0)
    .map(({ atMs, thrown }) => ({
      atMs,
      attributes: {
        'exception.type': thrown.chain[0]?.class,
        'exception.message': thrown.chain[0]?.message,
        'exception.stacktrace': stackOf(thrown),
      },
    }));
}

/** Path and query of a request target; that of a proxy request has an origin, too. */
function targetOf(url: string): Attributes {
  const [, path = '', query] = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?]*)?([^?]*)(?:\?(.*))?$/is.exec(url) ?? [];
  return { 'url.path': path, 'url.query': query };
}

/** `http.route` has no label behind it. */
function routeOf({ route }: ExportedProfile): string | undefined {
  return route?.split(' · ')[0];
}

function failureOf(error: ExportedProfile['error']): string | null {
  return error === null || error === undefined ? null : errorText(error);
}

function requestRoot(profile: ExportedProfile): Root {
  const { status, error, origin, outcome = 'finished', durationMs = null } = profile;
  const request = dataOf(profile, 'request');
  const method = methodOf(profile.method);
  const route = routeOf(profile);
  const failure = failureOf(error);
  const hasStatus = status !== null && status !== undefined;
  const isFailed = hasStatus
    ? status >= 500 || outcome === 'cut off'
    : failure !== null || outcome === 'cut off';
  return {
    name: route === undefined ? method.name : `${method.name} ${route}`,
    kind: SPAN_KIND.server,
    durationMs,
    error: isFailed ? (failure ?? (outcome === 'cut off' ? 'cut off' : `status ${String(status)}`)) : null,
    // The convention's value of a response that has a status.
    errorType: failure === null && hasStatus ? String(status) : undefined,
    attributes: {
      ...method.attributes,
      ...targetOf(profile.url),
      ...serverOf(origin),
      'url.scheme': origin?.split(':')[0] ?? request?.client.scheme,
      'http.route': route,
      'http.response.status_code': status,
      'http.response.body.size': request?.response?.bytes,
      'network.protocol.version': request?.httpVersion,
      'network.peer.address': request?.client.peer,
      'client.address': profile.clientAddress,
      'user_agent.original': namedHeader(request?.headers ?? [], 'user-agent'),
    },
  };
}

function jobRoot(profile: ExportedProfile): Root {
  const run = dataOf(profile, 'jobs')?.run;
  const { error, durationMs = null } = profile;
  return {
    name: run === undefined ? profile.url : `process ${run.queue}`,
    kind: run === undefined ? SPAN_KIND.internal : SPAN_KIND.consumer,
    durationMs,
    error: failureOf(error),
    attributes:
      run === undefined
        ? {}
        : {
            'messaging.system': 'bullmq',
            'messaging.operation.name': 'process',
            'messaging.operation.type': 'process',
            'messaging.destination.name': run.queue,
            'messaging.message.id': run.id,
          },
  };
}

/** What only Hindsight knows: how to open the profile, what it found, what was past the recording limit. */
function ownAttributes(profile: ExportedProfile): Attributes {
  const { token, origin, findings = [], dropped = {}, outcome } = profile;
  const labels = [...new Set(findings.map(({ label }) => label))];
  const isKnown = origin !== null && origin !== undefined;
  return {
    'hindsight.token': token,
    'hindsight.link': isKnown ? `${origin}/_profiler/${token}` : undefined,
    'hindsight.findings': labels.length === 0 ? undefined : labels,
    'hindsight.outcome': outcome === 'finished' ? undefined : outcome,
    ...Object.fromEntries(
      Object.entries(dropped).map(([kind, count]) => [`hindsight.dropped.${kind}`, count]),
    ),
  };
}

export function rootOf(profile: ExportedProfile): Root {
  const root = isWork(profile.kind) ? jobRoot(profile) : requestRoot(profile);
  return { ...root, attributes: { ...root.attributes, ...ownAttributes(profile) } };
}
