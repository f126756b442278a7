/** A request of which only a summary is recorded: its row is all that is stored. */
import type { Context } from './context.ts';
import { type ProfileDocument, SUMMARY_PANEL } from '../profile.ts';
import type { ProfileIndex, SummaryFacts } from '../store/profile-index.ts';
import { rawHeader } from './raw-headers.ts';

export function summaryFactsOf(context: Context): SummaryFacts {
  const headers = context.first('response')?.rawHeaders ?? [];
  const length = rawHeader(headers, 'content-length');
  const route = context.last('route');
  const type = rawHeader(headers, 'content-type');
  return {
    // A copy: V8 keeps the whole header block for a part of it, as long as the row.
    contentType: type === null ? null : Buffer.from(type).toString(),
    bytes: length === null ? null : Number(length),
    handler: route?.handler ?? null,
    source: route?.source ?? null,
  };
}

export function summaryPanels(facts: SummaryFacts): ProfileDocument['panels'] {
  return { [SUMMARY_PANEL]: { data: facts } };
}

/** A row has name and message as one text. */
function errorIn(text: string | null): ProfileDocument['error'] {
  if (text === null) return undefined;
  const at = text.indexOf(': ');
  return at === -1 ? { name: text, message: '' } : { name: text.slice(0, at), message: text.slice(at + 2) };
}

function documentOfRow(row: ProfileIndex): ProfileDocument {
  const { traceId, callerSpan, contentType, responseBytes, handler, handlerPlace } = row;
  return {
    token: row.token,
    kind: row.kind,
    state: row.state,
    parent: row.parent,
    child: row.child,
    method: row.method,
    url: row.url,
    origin: row.origin,
    status: row.status,
    route: row.route,
    clientAddress: row.clientAddress,
    requestId: row.requestId ?? '',
    trace: traceId === null ? undefined : { traceId, parentId: callerSpan, sampled: true },
    startedAt: row.startedAt,
    durationMs: row.durationMs,
    outcome: row.outcome ?? undefined,
    summary: row.summary,
    process: row.process,
    release: row.release,
    error: errorIn(row.error),
    panels: summaryPanels({ contentType, bytes: responseBytes, handler, source: handlerPlace }),
  };
}

export interface StoredText {
  row: ProfileIndex;
  /** JSON of the record, masked; empty: the row is all there is. A store hands it to nobody but `read` and `findText`. */
  text: string;
}

export function documentIn({ row, text }: StoredText): ProfileDocument {
  return text === '' ? documentOfRow(row) : (JSON.parse(text) as ProfileDocument);
}
