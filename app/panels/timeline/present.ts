import type { PresentFrom } from '../../profiler/panel.ts';
import type { Figure, Presentation, Section } from '../../profiler/read/rows.ts';
import { SPAN_KINDS } from '../../profiler/read/span.ts';
import { type BrowserView, browserView } from './browser.ts';
import { shareRow, sharesNote, type TimelineData } from '../shared/timeline-data.ts';

const DEEPEST = 12;

function browserFigures(browser: BrowserView | null): Figure[] {
  return (browser?.figures ?? []).flatMap(({ label, ms, total }): Figure[] =>
    ms === null || total
      ? []
      : [
          {
            label: `In the browser: ${label.toLowerCase()}`,
            value: ms,
            unit: 'ms',
            compare: 'cost',
            measured: true,
          },
        ],
  );
}

function browserSection({ rows, said }: BrowserView): Section {
  return {
    id: 'browser',
    title: 'In the browser',
    note: said.join(' '),
    columns: { text: 'What' },
    rows: rows.map(({ label, depth, startMs, durationMs }) => ({
      text: label,
      depth,
      number: durationMs,
      fields: [{ label: 'Start', value: startMs, unit: 'at' }],
    })),
  };
}

export function presentTimeline(
  data: TimelineData,
  { amendments }: Pick<PresentFrom, 'amendments'>,
): Presentation {
  const { totalMs, headersMs, spans, shares } = data;
  const browser = browserView(data, amendments.timing);
  return {
    card: { parts: shares.map(({ kind, label, ms }) => ({ kind, label, ms })) },
    figures: [
      { label: 'Duration', value: totalMs, unit: 'ms' },
      { label: 'Headers sent after', value: headersMs, unit: 'ms' },
      ...browserFigures(browser),
    ],
    sections: [
      {
        id: 'shares',
        title: 'Where the time went',
        columns: { text: 'What' },
        note: sharesNote(data),
        rows: shares.map((share) => shareRow(share, totalMs)),
      },
      ...(browser === null ? [] : [browserSection(browser)]),
      {
        id: 'spans',
        title: 'Spans',
        columns: { text: 'Span' },
        rows: spans.map(
          ({ kind, label, startMs, durationMs, selfMs, depth, failed, outside, anchor }, index) => ({
            id: `s${index}`,
            text: label,
            depth: Math.min(DEEPEST, depth),
            number: durationMs,
            badges: failed === undefined ? [] : [failed],
            tone: failed === undefined ? 'plain' : 'bad',
            ...(anchor?.startsWith('g') === true ? { within: anchor } : {}),
            note: outside === true ? 'outside of the request’s time' : null,
            fields: [
              { label: 'Kind', value: (SPAN_KINDS[kind] ?? SPAN_KINDS.work).one },
              { label: 'Start', value: startMs, unit: 'at' },
              { label: 'Self time', value: selfMs, unit: 'ms' },
            ],
          }),
        ),
      },
    ],
  };
}
