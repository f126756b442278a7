/** The panel of spans that the application recorded by `profiler.span`, and of events that it sent to clients. */
import type { Facts } from '../../profiler/record/facts.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';
import { coveredMs } from '../shared/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { count } from '../../view-helpers/numbers.ts';

type Span = Facts['span'];

function depthOf(spans: readonly Span[], { inside }: Span): number {
  const around = inside === null ? undefined : spans[inside];
  return around === undefined ? 0 : 1 + depthOf(spans, around);
}

/** `removed company, not in UpdateContactDto` */
function removedText({ names, as }: NonNullable<Span['removed']>): string {
  return `removed ${names.join(', ').slice(0, 200)}${as === '' ? '' : `, not in ${as}`}`;
}

/** `no receiver; joined rooms: "3"` */
function emittedText({ count: times, joined }: NonNullable<Span['emitted']>): string {
  if (times > 0) return count(times, 'receiver');
  return joined.length === 0 ? 'no room was joined' : `joined rooms: ${joined.join(', ')}`;
}

export type SpansData = ListData<Facts['span']>;

export const spansPanel = listPanel({
  name: 'spans',
  title: 'Spans',
  fact: 'span',
  noun: 'spans',
  menu: { optional: true, rank: 48 },
  searched: ['name'],
  nothing: {
    what: 'No span was recorded.',
    why: 'profiler.span(name, work) records how long a piece of your own work took.',
  },
  letter: 's',
  section: {
    id: 'spans',
    title: 'Spans',
    note: 'in the order they started',
    columns: { label: 'Span', badges: 'Marks', place: 'Started from' },
  },
  figures: ({ items }) => [
    { label: 'Spans', value: items.length, compare: 'neutral' },
    { label: 'Time in spans', value: coveredMs(items), unit: 'ms', compare: 'cost' },
  ],
  span: ({ name }) => name,
  row: (span, _index, { items }) => ({
    label: span.name,
    tone: span.error === null ? 'plain' : 'bad',
    depth: depthOf(items, span),
    key: span.name,
    badges: span.emitted?.count === 0 ? ['no receiver'] : [],
    note: noteOf([
      span.removed === undefined ? null : removedText(span.removed),
      span.emitted === undefined ? null : emittedText(span.emitted),
    ]),
  }),
});
