/**
 * The exception panel: everything thrown while a request was handled, or in its work after the response, with the request's last log
 * lines. The injected describer runs once per error: the error page and the final profile share its result.
 */
import type { Context } from '../../profiler/record/context.ts';
import type { ErrorFact } from '../../profiler/record/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Thrown } from '../../profiler/record/thrown.ts';
import { truncateText } from '../../profiler/record/plain.ts';
import type { Stop, ValuesRecord } from '../../profiler/record/values.ts';
import type { ExceptionData, LayerPlace, ThrownRecord } from './data.ts';
import { findPlace } from './place.ts';
import { presentException } from './present.ts';
import { errorInBody, errorInLogs } from './sent-error.ts';

const MOST_ERRORS = 10;
const LONGEST_NAME = 300;
const MOST_LOG_LINES = 20;
const LONGEST_LOG_LINE = 500;
const FATAL: ReadonlySet<ThrownRecord['origin']> = new Set(['uncaughtException', 'unhandledRejection']);

function isServerFault({ status, origin }: ThrownRecord): boolean {
  return FATAL.has(origin) || (status !== null && status >= 500);
}

/** The application responded with a 4xx on purpose. */
function isRefusal({ status, origin }: ThrownRecord): boolean {
  return origin === 'passed on' && status !== null && status >= 400 && status < 500;
}

function readLogs(context: Context): Pick<ExceptionData, 'logs' | 'logsDropped'> {
  const facts = context.all('log');
  const logs = facts.slice(-MOST_LOG_LINES).map(({ atMs, level, channel, message }) => ({
    atMs,
    level,
    channel,
    message: truncateText(message, LONGEST_LOG_LINE),
  }));
  return { logs, logsDropped: facts.length - logs.length };
}

function layerPlace(layer: ErrorFact['layer']): LayerPlace | undefined {
  if (layer === null || layer === undefined) return undefined;
  const { name, kind, pattern, method, source } = layer;
  const mount = pattern === '/' || kind === 'param' ? '' : ` ${pattern}`;
  const named = name === '<anonymous>' ? '' : ` ${name}`;
  const title = kind === 'handler' ? `${method ?? 'ALL'} ${pattern}${named}` : `${name}${mount}`;
  return { name: truncateText(title, LONGEST_NAME), place: source };
}

function misdeclaredPlace({ name, source, parameters }: NonNullable<ErrorFact['misdeclared']>) {
  return { name: truncateText(name, LONGEST_NAME), place: source, parameters };
}

/** How an error was handled: if the application responded to it, with the status of the response. */
function answerOf(
  { origin, status, atMs, layer, handler, dropped, misdeclared }: ErrorFact,
  context: Context,
): Pick<ThrownRecord, 'origin' | 'status' | 'from' | 'handler' | 'dropped' | 'misdeclared'> {
  const response = context.first('response');
  const headersAtMs = response?.headersAtMs ?? null;
  const isPassedOn = origin === 'passed on';
  const isLate = isPassedOn && headersAtMs !== null && atMs > headersAtMs;
  const from = layerPlace(layer);
  const by = isLate ? undefined : layerPlace(handler);
  return {
    origin: isLate ? 'late' : origin,
    status: isPassedOn && !isLate && headersAtMs !== null ? (response?.status ?? null) : status,
    ...(from === undefined ? {} : { from }),
    ...(by === undefined ? {} : { handler: by, ...(dropped === true ? { dropped } : {}) }),
    ...(misdeclared === undefined ? {} : { misdeclared: misdeclaredPlace(misdeclared) }),
  };
}

interface Described {
  error: unknown;
  as: Pick<ThrownRecord, 'thrown' | 'place'>;
}

export interface ExceptionPanelOptions {
  describe: (value: unknown, stops?: readonly Stop[]) => Thrown;
  valuesOf?: ((context: Context) => ValuesRecord | null) | undefined;
}

export function createExceptionPanel({
  describe,
  valuesOf = () => null,
}: ExceptionPanelOptions): Panel<ExceptionData> {
  const described = new WeakMap<ErrorFact, Described>();

  function describeOnce(fact: ErrorFact, stops: readonly Stop[]): Pick<ThrownRecord, 'thrown' | 'place'> {
    const known = described.get(fact);
    if (known !== undefined && known.error === fact.error) return known.as;
    const thrown = describe(fact.error, stops);
    const as = { thrown, place: findPlace(thrown) };
    // Another error may wrap it later.
    described.set(fact, { error: fact.error, as });
    return as;
  }

  function withValues(context: Context, data: ExceptionData | null): ExceptionData | null {
    const values = valuesOf(context);
    if (values === null) return data;
    return { ...(data ?? { errors: [], errorsDropped: 0, ...readLogs(context) }), values };
  }

  function collectSent(context: Context): ExceptionData | null {
    const response = context.first('response');
    if (response === undefined) return null;
    const error = errorInBody(response) ?? (response.status < 500 ? null : errorInLogs(context.all('log')));
    if (error === null) return null;
    const thrown = describe(error);
    const record: ThrownRecord = {
      origin: 'sent',
      atMs: response.headersAtMs ?? context.elapsedMs(),
      late: false,
      status: response.status,
      thrown,
      place: findPlace(thrown),
    };
    return { errors: [record], errorsDropped: 0, ...readLogs(context) };
  }

  return {
    name: 'exception',
    title: 'Exception',
    menu: {
      key: 'e',
      rank: 10,
      summary(data) {
        const count = data.errors.reduce((sum, { thrown }) => sum + thrown.chain.length, 0);
        const tone = data.errors.some(isServerFault)
          ? 'bad'
          : data.errors.every(isRefusal)
            ? 'plain'
            : 'warn';
        return { text: String(count), tone, count };
      },
    },
    recorded: {
      facts: { error: 'errors' },
      searched: ['class', 'message', 'code', 'properties'],
      nothing: {
        what: 'Nothing was thrown during this request.',
        why: 'Errors that you caught are shown if they were passed to next() or logged at level error.',
      },
    },
    collect(context: Context) {
      const facts = context.all('error');
      if (facts.length === 0) return withValues(context, collectSent(context));
      const duration = context.durationMs;
      const stops = context.first('values')?.stops ?? [];
      const errors = facts.slice(0, MOST_ERRORS).map((fact) => ({
        atMs: fact.atMs,
        late: duration !== null && fact.atMs > duration,
        ...answerOf(fact, context),
        ...describeOnce(fact, stops),
      }));
      return withValues(context, {
        errors,
        errorsDropped: facts.length - errors.length,
        ...readLogs(context),
      });
    },
    rows: presentException,
  };
}
