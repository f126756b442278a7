/**
 * A profile -> spans and log records: a span for the request, one for each piece of its work, and a record for each log line. Middleware
 * has none: a dozen for each request would cost more to store than they say.
 */
import { hash as digest } from 'node:crypto';
import type { Level } from '../panels/logs/data.ts';
import { type Attributes, attributesOf, type ExportedBy, nanoseconds, STATUS_ERROR } from './otlp-model.ts';
import { exceptionsOf, rootOf } from './otlp-root.ts';
import { codeOf, dataOf, errorType, type ExportedProfile, type Work, workOf } from './otlp-work.ts';

/** Of the semantic conventions. */
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.37.0';

/** The flag of W3C Trace Context, and OTLP's bits that tell whether the parent is of another process. */
const SAMPLED = 0x001;
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const SEVERITY: Readonly<Record<Level, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

const TRACE_ID_LENGTH = 32;
const HALF_SPAN_ID_LENGTH = 8;

/** Row of the span that all others are in: the request itself. */
const ROOT = 0;

interface Ids {
  traceId: string;
  spanId(row: number): string;
}

/** A span's id follows from the profile and its row, so that every export of a profile names its spans alike. One hash serves all spans. */
function idsOf({ token, startedAt, process, trace }: ExportedProfile): Ids {
  const hash = digest('sha256', `${process} ${startedAt} ${token}`);
  const high = hash.slice(TRACE_ID_LENGTH, TRACE_ID_LENGTH + HALF_SPAN_ID_LENGTH);
  const low = parseInt(hash.slice(-HALF_SPAN_ID_LENGTH), 16);
  return {
    traceId: trace?.traceId ?? hash.slice(0, TRACE_ID_LENGTH),
    spanId: (row) => high + ((low + row) >>> 0).toString(16).padStart(HALF_SPAN_ID_LENGTH, '0'),
  };
}

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

function spanOf(work: Work, profile: ExportedProfile, { ids, endMs }: { ids: Ids; endMs: number }) {
  const { startedAt, trace } = profile;
  const { row, inside = ROOT, name, kind, startMs, durationMs, error, attributes } = work;
  const caller = trace?.parentId ?? undefined;
  const isRemote = row === ROOT && caller !== undefined;
  return {
    traceId: ids.traceId,
    spanId: work.spanId ?? ids.spanId(row),
    traceState: trace?.state,
    parentSpanId: row === ROOT ? caller : ids.spanId(inside),
    flags: sampledFlag(profile) | KNOWS_REMOTE | (isRemote ? IS_REMOTE : 0),
    name,
    kind,
    startTimeUnixNano: nanoseconds(startedAt, startMs),
    endTimeUnixNano: nanoseconds(startedAt, startMs + (durationMs ?? Math.max(0, endMs - startMs))),
    attributes: attributesOf({ ...attributes, ...outcomeOf(work) }),
    status: error === null ? undefined : { code: STATUS_ERROR, message: error },
  };
}

function spansOf(profile: ExportedProfile, ids: Ids) {
  const works = workOf(profile);
  const ends = works.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0));
  const of = { ids, endMs: profile.durationMs ?? Math.max(0, ...ends) };
  const events = exceptionsOf(profile).map(({ atMs, attributes }) => ({
    timeUnixNano: nanoseconds(profile.startedAt, atMs),
    name: 'exception',
    attributes: attributesOf(attributes),
  }));
  const root = spanOf({ row: ROOT, startMs: 0, ...rootOf(profile) }, profile, of);
  return [
    { ...root, events: events.length === 0 ? undefined : events },
    ...works.map((work) => ({ ...spanOf(work, profile, of), events: undefined })),
  ];
}

function logRecordsOf(profile: ExportedProfile, ids: Ids) {
  const lines = dataOf(profile, 'logs')?.lines ?? [];
  return lines.map(({ level, channel, message, context, caller, atMs }) => {
    const at = nanoseconds(profile.startedAt, atMs);
    return {
      timeUnixNano: at,
      observedTimeUnixNano: at,
      severityNumber: SEVERITY[level],
      severityText: level.toUpperCase(),
      body: { stringValue: message },
      attributes: attributesOf({
        'hindsight.log.channel': channel,
        'hindsight.log.context': context,
        'hindsight.token': profile.token,
        ...codeOf(caller),
      }),
      flags: sampledFlag(profile),
      traceId: ids.traceId,
      spanId: ids.spanId(ROOT),
    };
  });
}

export function telemetryOf(profile: ExportedProfile) {
  const ids = idsOf(profile);
  return { spans: spansOf(profile, ids), logRecords: logRecordsOf(profile, ids) };
}

export type Telemetry = ReturnType<typeof telemetryOf>;
export type OtlpSpan = Telemetry['spans'][number];
export type OtlpLogRecord = Telemetry['logRecords'][number];

/** One profile in OTLP/JSON. Each receiver ignores the part of the other, so the same file goes to `/v1/traces` and to `/v1/logs`. */
export function profileOtlp(
  profile: ExportedProfile,
  { resource, scope }: ExportedBy,
  { spans, logRecords }: Telemetry = telemetryOf(profile),
) {
  // The version that the environment names wins.
  const described = {
    'service.version': profile.release,
    ...resource,
    'service.instance.id': profile.process,
  };
  const by = { resource: { attributes: attributesOf(described) } };
  return {
    resourceSpans: [{ ...by, scopeSpans: [{ scope, spans, schemaUrl: SCHEMA_URL }] }],
    resourceLogs: [{ ...by, scopeLogs: [{ scope, logRecords, schemaUrl: SCHEMA_URL }] }],
  };
}

export type TracesData = Pick<ReturnType<typeof profileOtlp>, 'resourceSpans'>;
export type LogsData = Pick<ReturnType<typeof profileOtlp>, 'resourceLogs'>;
