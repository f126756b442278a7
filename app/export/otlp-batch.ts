/** Stored documents -> the export requests of a batch. What was sent before is left out: a profile is stored again when a late fact arrives. */
import { logRecordsOf, logsData, spansOf, tracesData } from './otlp-profile.ts';
import type { ExportedBy, LogsData, OtlpLogRecord, OtlpSpan, TracesData } from './otlp-model.ts';
import type { ExportedProfile } from './otlp-work.ts';

export interface Batch {
  /** Profiles in it. */
  count: number;
  /** Documents that could not be read. */
  unreadable: number;
  /** null: there is nothing to send. */
  traces: TracesData | null;
  logs: LogsData | null;
}

/** Ids remembered of what was sent, the newest; late facts arrive within ten seconds. */
const MOST_REMEMBERED = 50_000;

/** The heap of the thread that writes has 64 MB, and a parsed document takes several times its size. */
const LARGEST_DOCUMENT = 4 * 1024 * 1024;

/** Neither what still runs, because a span is sent once, when it has ended; nor the profiler's own pages. */
function isExported({ kind, state, outcome }: ExportedProfile): boolean {
  if (kind === 'profiler' || kind === 'error_page') return false;
  return state === 'final' || outcome === 'cut off';
}

function parse(document: Uint8Array): ExportedProfile | null {
  if (document.length > LARGEST_DOCUMENT) return null;
  try {
    return JSON.parse(Buffer.from(document.buffer, document.byteOffset, document.length).toString()) as ExportedProfile; // prettier-ignore
  } catch {
    return null;
  }
}

interface Converted {
  spans: OtlpSpan[];
  records: OtlpLogRecord[];
}

/** null: a document of an unknown form. */
function convert(profile: ExportedProfile): Converted | null {
  try {
    return { spans: spansOf(profile), records: logRecordsOf(profile) };
  } catch {
    return null;
  }
}

export function createBatches(by: ExportedBy): (documents: readonly Uint8Array[]) => Batch {
  const sent = new Set<string>();

  function isNew(id: string): boolean {
    if (sent.has(id)) return false;
    sent.add(id);
    const [oldest] = sent;
    if (sent.size > MOST_REMEMBERED && oldest !== undefined) sent.delete(oldest);
    return true;
  }

  return (documents) => {
    /** By process and release: a process has one, but stores what an earlier one left. */
    const groups = new Map<string, Converted & { profile: ExportedProfile }>();
    let count = 0;
    let unreadable = 0;
    for (const document of documents) {
      const profile = parse(document);
      if (profile !== null && !isExported(profile)) continue;
      const converted = profile === null ? null : convert(profile);
      if (profile === null || converted === null) {
        unreadable++;
        continue;
      }
      count++;
      const key = JSON.stringify([profile.process, profile.release]);
      const group = groups.get(key) ?? { profile, spans: [], records: [] };
      group.spans.push(...converted.spans.filter(({ spanId }) => isNew(spanId)));
      group.records.push(...converted.records.filter(({ spanId }, index) => isNew(`${spanId} ${index}`)));
      groups.set(key, group);
    }
    const resourceSpans: TracesData['resourceSpans'] = [];
    const resourceLogs: LogsData['resourceLogs'] = [];
    for (const { profile, spans, records } of groups.values()) {
      if (spans.length > 0) resourceSpans.push(...tracesData(spans, by, profile).resourceSpans);
      if (records.length > 0) resourceLogs.push(...logsData(records, by, profile).resourceLogs);
    }
    return {
      count,
      unreadable,
      traces: resourceSpans.length === 0 ? null : { resourceSpans },
      logs: resourceLogs.length === 0 ? null : { resourceLogs },
    };
  };
}
