/** What the toolbar shows of outgoing calls: those that failed, then the slowest. */
import type { PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { CallEntry, HttpClientData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';
import { errorName, isFailed } from './outcome.ts';

const { count, durationText } = numberHelpers;

/** Without scheme and query. */
function lineOf({ method, url }: CallEntry): string {
  return `${method} ${url.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '')}`;
}

export function previewCalls({ calls, totals }: HttpClientData): PanelPreview {
  const ranked = calls
    .map((call, index) => ({ call, index }))
    .sort(
      (a, b) =>
        Number(isFailed(b.call)) - Number(isFailed(a.call)) ||
        (b.call.durationMs ?? Infinity) - (a.call.durationMs ?? Infinity),
    );
  return {
    facts: [
      ['Calls', `${count(totals.calls)}, ${count(totals.hosts, 'host')}`],
      ['Time', durationText(totals.busyMs)],
      ...(totals.failed > 0 ? [['Failed', count(totals.failed)] as const] : []),
    ],
    ...firstRows(ranked, ({ call, index }) => ({
      text: lineOf(call),
      note: noteOf(
        call.error === null ? (call.status === null ? 'open' : String(call.status)) : errorName(call.error),
        call.durationMs === null ? null : durationText(call.durationMs),
        call.caller,
      ),
      tone: isFailed(call) ? 'bad' : 'plain',
      row: `c${index + 1}`,
    })),
  };
}
