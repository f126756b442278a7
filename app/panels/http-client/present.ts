import type { PresentFrom } from '../../profiler/panel.ts';
import { pathOf } from '../../profiler/request-target.ts';
import type { Presentation, Row } from '../../profiler/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { shareFigure, timeFigure } from '../shared/timeline-data.ts';
import { keptNote } from '../shared/unkept.ts';
import type { CallEntry, HttpClientData } from './data.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { errorName, partsOf } from './outcome.ts';

function bodyLines(body: CallEntry['requestBody']): string[] {
  if (body === undefined || body.text === null) return [];
  return ['', body.truncated ? `${body.text}…` : body.text];
}

function httpText(call: CallEntry): string {
  const { method, url, requestHeaders, status, responseHeaders } = call;
  const lines = (headers: CallEntry['requestHeaders']): string[] =>
    headers.map(({ name, value }) => `${name}: ${value}`);
  const response =
    status === null ? [] : ['', `HTTP ${status}`, ...lines(responseHeaders), ...bodyLines(call.responseBody)];
  return [`${method} ${url}`, ...lines(requestHeaders), ...bodyLines(call.requestBody), ...response].join(
    '\n',
  );
}

function statusText({ status, error }: CallEntry): string | null {
  if (status !== null) return String(status);
  return error === null ? 'no response' : null;
}

function rowOf(call: CallEntry, index: number): Row {
  const { method, url, startMs, durationMs, status, error, link, caller } = call;
  const failed = hasFailed(call);
  const parts = partsOf(call).map(({ label, ms }) => `${label} ${numberHelpers.durationText(ms)}`);
  return {
    id: `c${index + 1}`,
    label: method,
    text: url,
    number: durationMs,
    tone: failed ? 'bad' : durationMs === null ? 'warn' : 'plain',
    badges: error !== null ? [errorName(error)] : failed ? ['failed'] : [],
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Parts', value: parts.join(', ') || null },
      { label: 'Error', value: error },
      { label: 'Profile', value: link },
    ],
    note: statusText(call),
    place: caller,
    key: `${method} ${pathOf(url)}`,
    ...(error !== null || (status ?? 0) >= 400
      ? { block: { text: httpText(call), language: 'http' as const } }
      : {}),
  };
}

export function presentCalls(
  { calls, unkept, totals }: HttpClientData,
  { profile }: PresentFrom,
): Presentation {
  return {
    figures: [
      {
        label: 'Outgoing calls',
        value: totals.calls,
        note: keptNote(calls.length, unkept),
        compare: 'cost',
      },
      { label: 'Hosts', value: totals.hosts },
      { label: 'Failed', value: totals.failed, tone: totals.failed > 0 ? 'bad' : 'plain' },
      timeFigure(profile, 'out', 'Time in outgoing calls'),
      shareFigure(profile, 'out'),
      timeFigure(profile, 'socket'),
    ],
    sections: [
      {
        id: 'calls',
        title: 'Outgoing calls',
        note: 'in the order they were made',
        columns: { label: 'Method', text: 'URL', badges: 'Failure', note: 'Status', place: 'Called from' },
        rows: calls.map(rowOf),
        card: 'largest',
      },
    ],
  };
}
