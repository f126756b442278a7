/** The panel of the spans that the application recorded by `profiler.span`. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation } from '../../profiler/rows.ts';
import { type SpanDraft, workSpan } from '../../profiler/span.ts';
import { totalMs, withRoundedTimes } from '../shared/rows.ts';

type Span = Facts['span'];

export interface SpansData {
  spans: Span[];
}

function dataOf(record: FactReader): SpansData | null {
  const facts = record.all('span');
  if (facts.length === 0) return null;
  return { spans: facts.map(withRoundedTimes) };
}

function depthOf(spans: readonly Span[], { inside }: Span): number {
  const around = inside === null ? undefined : spans[inside];
  return around === undefined ? 0 : 1 + depthOf(spans, around);
}

function present({ spans }: SpansData): Presentation {
  const outer = spans.filter(({ inside }) => inside === null);
  return {
    figures: [
      { label: 'Spans', value: spans.length, compare: 'neutral' },
      { label: 'Time in spans', value: totalMs(outer), unit: 'ms', compare: 'cost' },
    ],
    sections: [
      {
        id: 'spans',
        title: 'Spans',
        note: 'in the order they started',
        columns: { label: 'Span', place: 'Started from' },
        card: 'in order',
        rows: spans.map((span, index) => ({
          id: `s${index + 1}`,
          label: span.name,
          number: span.durationMs,
          tone: span.error === null ? 'plain' : 'bad',
          badges: span.error === null ? [] : ['failed'],
          place: span.caller,
          depth: depthOf(spans, span),
          key: span.name,
          fields: [
            { label: 'Start', value: span.startMs, unit: 'at' },
            { label: 'Error', value: span.error },
          ],
        })),
      },
    ],
  };
}

export const spansPanel: Panel<SpansData> = {
  name: 'spans',
  title: 'Spans',
  optional: true,
  toolbar: { rank: 48 },
  searched: ['name'],
  facts: { span: 'spans' },
  reads: ['span'],
  data: dataOf,
  spans({ spans }, { endMs }) {
    const drafts: SpanDraft[] = [];
    for (const [index, span] of spans.entries()) {
      const around = span.inside === null ? undefined : drafts[span.inside];
      drafts.push({
        ...workSpan(span, endMs),
        label: span.name,
        panel: 'spans',
        anchor: `s${index + 1}`,
        ...(around === undefined ? {} : { inside: around }),
      });
    }
    return drafts;
  },
  summary: ({ spans }) => ({
    text: String(spans.length),
    tone: spans.some(({ error }) => error !== null) ? 'bad' : 'plain',
    count: spans.length,
  }),
  empty: () => ({
    what: 'No span was recorded.',
    why: 'profiler.span(name, work) records how long a piece of your own work took.',
  }),
  present,
};
