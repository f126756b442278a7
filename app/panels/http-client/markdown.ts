/** Outgoing calls as Markdown: a table of all, with the parts of each that are known. */
import { blocks, fence, heading, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { CallEntry, HttpClientData } from './index.ts';
import { partsOf } from './outcome.ts';

const { count, durationText } = numberHelpers;

/** Failed calls shown with their headers. */
const MOST_FAILED = 5;

function headersOf({ method, url, requestHeaders, status, responseHeaders }: CallEntry): string {
  const lines = (rows: CallEntry['requestHeaders']): string[] =>
    rows.map(({ name, value }) => `${name}: ${value}`);
  const answer = status === null ? [] : ['', `HTTP ${status}`, ...lines(responseHeaders)];
  return fence([`${method} ${url}`, ...lines(requestHeaders), ...answer].join('\n'), 'http');
}

export function httpClientMarkdown({ calls, totals }: HttpClientData): string {
  const failed = totals.failed > 0 ? `, ${totals.failed} failed` : '';
  const failures = calls.filter(({ error, status }) => error !== null || (status !== null && status >= 400));
  return blocks([
    `${count(totals.calls, 'call')} to ${count(totals.hosts, 'host')}, ${durationText(totals.durationMs)} in all${failed}.`,
    table<CallEntry>(
      [
        { title: 'Start', value: ({ startMs }) => `+${durationText(startMs)}`, plain: true },
        { title: 'Time', value: ({ durationMs }) => durationText(durationMs), plain: true },
        { title: 'Status', value: ({ status }) => status },
        { title: 'Method', value: ({ method }) => method },
        { title: 'Address', value: ({ url }) => url },
        {
          title: 'Parts',
          value: (call) =>
            partsOf(call)
              .map(({ label, ms }) => `${label} ${durationText(ms)}`)
              .join(', '),
          plain: true,
        },
        { title: 'Error', value: ({ error }) => error },
        { title: 'Place', value: ({ caller }) => caller },
      ],
      calls,
    ),
    ...(failures.length > 0 ? [heading(3, 'Failed'), ...failures.slice(0, MOST_FAILED).map(headersOf)] : []),
  ]);
}
