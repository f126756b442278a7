/** A request of which only a summary was recorded: why, what is known of it, and how to record it in full. */
import { errorText } from '../../profiler/error-text.ts';
import { isWork } from '../../profiler/record/context.ts';
import type { Profile } from '../../profiler/profile.ts';
import { howToRecordInFull } from '../../profiler/record/recording-limit.ts';
import type { Row, Section } from '../../profiler/read/rows.ts';
import type { SummaryFacts } from '../../profiler/store/profile-index.ts';
import { bytesText, durationText } from '../../view-helpers/numbers.ts';

const NOT_RECORDED =
  'Headers, body, middleware, queries, calls, log lines, views and CPU. No rule checked this request.';
function sentText({ contentType, bytes }: SummaryFacts): string {
  const size = bytes === null ? 'no Content-Length' : bytesText(bytes);
  return `${contentType ?? 'no content type'}, ${size}`;
}

function knownRows(profile: Profile, facts: SummaryFacts): Row[] {
  const { kind, status, statusMessage, durationMs, route, method, clientAddress, trace, error } = profile;
  const time: Row = { label: 'Time', text: durationMs === null ? '' : durationText(durationMs) };
  const thrown: Row = {
    label: 'Error',
    ...(error === null ? { note: 'none' } : { text: errorText(error), tone: 'bad' }),
  };
  if (isWork(kind)) return [time, thrown];
  return [
    {
      label: 'Status',
      ...(status === null ? { note: 'no response' } : { text: `${status} ${statusMessage}`.trim() }),
    },
    time,
    { label: 'Sent', text: sentText(facts) },
    {
      label: 'Route',
      ...(route === null
        ? { note: 'none' }
        : {
            text: `${method} ${route}${facts.handler === null ? '' : `, ${facts.handler}`}`,
            place: facts.source,
          }),
    },
    { label: 'Client', text: clientAddress },
    ...(trace === undefined ? [] : [{ label: 'Trace', text: trace.traceId }]),
    thrown,
  ];
}

export function summarySections(profile: Profile, facts: SummaryFacts): Section[] {
  return [
    { id: 'summary', title: 'Known', rows: knownRows(profile, facts) },
    { id: 'not-recorded', title: 'Not recorded', rows: [{ text: NOT_RECORDED }] },
    {
      id: 'in-full',
      title: 'How to record it in full',
      rows: [{ text: howToRecordInFull(isWork(profile.kind)) }],
    },
  ];
}
