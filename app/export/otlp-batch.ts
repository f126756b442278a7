/** Stored documents -> the export requests of a batch. What was sent before is left out: a profile is stored again when a late fact arrives. */
import type { Encoding, Group } from './otlp-encoding.ts';
import { idsOf } from './otlp-ids.ts';
import type { ExportedBy, LogRecord, Span } from './otlp-model.ts';
import { logRecordsOf, resourceOf, SCHEMA_URL, spansOf } from './otlp-profile.ts';
import type { ExportedProfile } from './otlp-work.ts';

export interface Batch {
  /** Profiles in it. */
  count: number;
  /** Documents that could not be read. */
  unreadable: number;
  /** Bodies of the requests; null: there is nothing to send. */
  traces: Buffer | null;
  logs: Buffer | null;
}

/** Spans remembered of what was sent, those of the newest profiles; late facts arrive within ten seconds. */
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
  spans: Span[];
  records: LogRecord[];
}

function convert(profile: ExportedProfile): Converted {
  const ids = idsOf(profile);
  return { spans: spansOf(profile, ids), records: logRecordsOf(profile, ids) };
}

/** What was sent of a profile. */
interface Sent {
  rows: number[];
  /** The first so many. */
  records: number;
}

/** Leaves out what was sent. */
function createNews(): (converted: Converted) => Converted {
  /** By the id of the profile's first span. */
  const sent = new Map<string, Sent>();
  let remembered = 0;

  function remember(id: string, { spans, records }: Converted): void {
    sent.set(id, { rows: spans.map(({ row }) => row), records: records.length });
    remembered += spans.length;
    for (const [oldest, { rows }] of sent) {
      if (remembered <= MOST_REMEMBERED) break;
      sent.delete(oldest);
      remembered -= rows.length;
    }
  }

  return (converted) => {
    const { spans, records } = converted;
    const id = spans[0]?.spanId ?? '';
    const before = sent.get(id);
    if (before === undefined) {
      remember(id, converted);
      return converted;
    }
    const news = {
      spans: spans.filter(({ row }) => !before.rows.includes(row)),
      records: records.slice(before.records),
    };
    before.rows.push(...news.spans.map(({ row }) => row));
    remembered += news.spans.length;
    before.records = Math.max(before.records, records.length);
    return news;
  };
}

export function createBatches(
  by: ExportedBy,
  encoding: Encoding,
): (documents: readonly Uint8Array[]) => Batch {
  const newsOf = createNews();

  /** null: a document of an unknown form. */
  function encode(profile: ExportedProfile): Record<'spans' | 'records', Buffer | null> | null {
    try {
      const { spans, records } = newsOf(convert(profile));
      return {
        spans: spans.length === 0 ? null : encoding.spans(spans),
        records: records.length === 0 ? null : encoding.records(records),
      };
    } catch {
      return null;
    }
  }

  function createGroup(profile: ExportedProfile): Record<'spans' | 'records', Group> {
    const group = { resource: resourceOf(by, profile), scope: by.scope, schemaUrl: SCHEMA_URL };
    return { spans: { ...group, parts: [] }, records: { ...group, parts: [] } };
  }

  return (documents) => {
    /** By process and release: a process has one, but stores what an earlier one left. */
    const groups = new Map<string, Record<'spans' | 'records', Group>>();
    let count = 0;
    let unreadable = 0;
    for (const document of documents) {
      const profile = parse(document);
      if (profile !== null && !isExported(profile)) continue;
      const encoded = profile === null ? null : encode(profile);
      if (profile === null || encoded === null) {
        unreadable++;
        continue;
      }
      count++;
      const key = `${profile.process}\n${profile.release ?? ''}`;
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = createGroup(profile)));
      if (encoded.spans !== null) group.spans.parts.push(encoded.spans);
      if (encoded.records !== null) group.records.parts.push(encoded.records);
    }
    const all = [...groups.values()];
    const traces = all.map(({ spans }) => spans).filter(({ parts }) => parts.length > 0);
    const logs = all.map(({ records }) => records).filter(({ parts }) => parts.length > 0);
    return {
      count,
      unreadable,
      traces: traces.length === 0 ? null : encoding.traces(traces),
      logs: logs.length === 0 ? null : encoding.logs(logs),
    };
  };
}
