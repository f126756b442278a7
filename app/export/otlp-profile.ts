/**
 * A profile -> spans and log records: a span for the request, one for each piece of its work, and a record for each log line. Middleware
 * has none: a dozen for each request would cost more to store than they say.
 */
import type { Level } from '../panels/logs/data.ts';
import { type Ids, idsOf, ROOT } from './otlp-ids.ts';
import { recordJson, spanJson } from './otlp-encoding.ts';
import {
  type Attributes,
  attributesOf,
  type ExportedBy,
  type LogRecord,
  type LogsData,
  type Span,
  type SpanEvent,
  type TracesData,
} from './otlp-model.ts';
import { exceptionEvents, rootOf } from './otlp-root.ts';
import { codeOf, dataOf, errorType, type ExportedProfile, type Work, workOf } from './otlp-work.ts';

/** Of the semantic conventions. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.37.0';

/** The flag of W3C Trace Context, and OTLP's bits that tell whether the parent is of another process. */
const SAMPLED = 0x001;
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const SEVERITY: Readonly<Record<Level, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

function sampledFlag({ trace }: ExportedProfile): number {
  return trace?.sampled === false ? 0 : SAMPLED;
}

/** Of what failed, or had not ended. */
function outcomeOf({ error, errorType: type, durationMs }: Work): Attributes {
  return {
    'error.type': error === null ? undefined : (type ?? errorType(error)),
    'hindsight.unfinished': durationMs === null ? true : undefined,
  };
}

function spanOf(
  work: Work,
  { profile, ids, endMs }: { profile: ExportedProfile; ids: Ids; endMs: number },
  events: readonly SpanEvent[] = [],
): Span {
  const { startedAt, trace } = profile;
  const { row, inside = ROOT, name, kind, startMs, durationMs, error, attributes } = work;
  const lasted = durationMs ?? Math.max(0, endMs - startMs);
  const caller = trace?.parentId ?? undefined;
  const parentSpanId = row === ROOT ? caller : ids.spanId(inside);
  const isRemote = row === ROOT && caller !== undefined;
  return {
    row,
    traceId: ids.traceId,
    spanId: work.spanId ?? ids.spanId(row),
    traceState: trace?.state,
    parentSpanId,
    flags: sampledFlag(profile) | KNOWS_REMOTE | (isRemote ? IS_REMOTE : 0),
    name,
    kind,
    startedAt,
    startMs,
    endMs: startMs + lasted,
    attributes: error === null && durationMs !== null ? attributes : [...attributes, outcomeOf(work)],
    events,
    error,
  };
}

export function spansOf(profile: ExportedProfile, ids: Ids): Span[] {
  const works = workOf(profile);
  const endMs =
    profile.durationMs ?? Math.max(0, ...works.map((work) => work.startMs + (work.durationMs ?? 0)));
  const of = { profile, ids, endMs };
  const root = spanOf({ row: ROOT, startMs: 0, ...rootOf(profile) }, of, exceptionEvents(profile));
  return [root, ...works.map((work) => spanOf(work, of))];
}

export function logRecordsOf(profile: ExportedProfile, ids: Ids): LogRecord[] {
  const spanId = ids.spanId(ROOT);
  return (dataOf(profile, 'logs')?.lines ?? []).map((line): LogRecord => {
    const { level, channel, message, context, caller, atMs } = line;
    return {
      startedAt: profile.startedAt,
      atMs,
      severityNumber: SEVERITY[level],
      severityText: level.toUpperCase(),
      message,
      attributes: [
        {
          'hindsight.log.channel': channel,
          'hindsight.log.context': context,
          'hindsight.token': profile.token,
        },
        codeOf(caller),
      ],
      flags: sampledFlag(profile),
      traceId: ids.traceId,
      spanId,
    };
  });
}

/** What of a profile describes the service that recorded it. */
type Recorded = Pick<ExportedProfile, 'process' | 'release'>;

/** What the environment says of the version wins. */
export function resourceOf({ resource }: ExportedBy, { process, release }: Recorded): Attributes {
  return { 'service.version': release, ...resource, 'service.instance.id': process };
}

/** One profile in OTLP/JSON. Each receiver ignores the part of the other, so the same file goes to `/v1/traces` and to `/v1/logs`. */
export function profileOtlp(profile: ExportedProfile, by: ExportedBy): TracesData & LogsData {
  const ids = idsOf(profile);
  const spans = spansOf(profile, ids).map(spanJson);
  const logRecords = logRecordsOf(profile, ids).map(recordJson);
  const resource = { attributes: attributesOf(resourceOf(by, profile)) };
  const { scope } = by;
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope, spans, schemaUrl: SCHEMA_URL }] }],
    resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords, schemaUrl: SCHEMA_URL }] }],
  };
}
