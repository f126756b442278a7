/** A panel of one kind of facts: a list in the order in which they were recorded, with totals and, for work, spans on the timeline. */
import type { FactName, Facts } from '../../profiler/record/facts.ts';
import type { EmptyState, Panel, PanelMenu, PresentFrom } from '../../profiler/panel.ts';
import type { PanelSummary } from '../../profiler/profile.ts';
import type { FactReader } from '../../profiler/record/recorded-facts.ts';
import type { Field, Figure, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { type SpanDraft, type SpanKind, shorten, workSpan } from '../../profiler/read/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { rowsSummary } from '../../render/rows-summary.ts';
import { coveredMs } from './rows.ts';

export type ListData<Item, More = object> = { items: readonly Item[] } & More;

export interface ListPanel<Name extends FactName, More extends object> {
  name: string;
  title: string;
  fact: Name;
  noun: string;
  menu: Omit<PanelMenu, 'summary'>;
  searched: readonly string[];
  nothing: EmptyState;
  /** The ids of its rows are this letter and a number from 1 on. */
  letter: string;
  section: Omit<Section, 'rows' | 'card'> & Partial<Pick<Section, 'card'>>;
  /** Labels of the totals of work: how much, how long. */
  totals?: [count: string, time: string];
  figures?(data: ListData<Facts[Name], More>, from: Pick<PresentFrom, 'profile'>): readonly Figure[];
  /** Of its spans, if not `work`. */
  kind?: SpanKind;
  /** Text on the timeline; absent, or null: it takes no time. */
  span?(item: Facts[Name]): string | null;
  /** What a row of work has apart from time, place and failure. */
  row(item: Facts[Name], index: number, data: ListData<Facts[Name], More>): Omit<Row, 'id'>;
  below?(item: Facts[Name], id: string, token: string): readonly Row[];
  /** Derived from all items, or from other facts; null: nothing. */
  more?(record: FactReader): More | null;
  /** Other kinds of facts that `more` reads, each with a plural noun. */
  facts?: Readonly<Record<string, string>>;
  sections?(data: ListData<Facts[Name], More>): { above?: readonly Section[]; below?: readonly Section[] };
  /** Spans of what is past the recording limit. */
  moreSpans?(data: ListData<Facts[Name], More>): readonly SpanDraft[];
  /** Its menu, as far as its first figure and the worst tone of its rows do not say it. */
  summary?(data: ListData<Facts[Name], More>): Partial<PanelSummary>;
}

interface Work {
  startMs: number;
  durationMs: number | null;
  error?: string | null;
  caller?: string | null;
  path?: readonly string[] | undefined;
  /** Index of the item around it. */
  inside?: number | null;
  /** The event loop waited for it. */
  isSync?: boolean;
}

function isWork(item: object): item is Work {
  return 'startMs' in item && 'durationMs' in item;
}

/** What all work has; work that failed is bad. */
function workRow(
  { startMs, durationMs, error = null, caller = null, path }: Work,
  own: Omit<Row, 'id'>,
): Row {
  const fields: Field[] = [
    { label: 'Start', value: startMs, unit: 'at' },
    ...(own.fields ?? []),
    { label: 'Error', value: error },
  ];
  return {
    number: durationMs,
    tone: error !== null ? 'bad' : durationMs === null ? 'warn' : 'plain',
    place: caller,
    path,
    ...own,
    badges: [...(error === null || own.badges?.includes('failed') ? [] : ['failed']), ...(own.badges ?? [])],
    fields,
  };
}

export function listPanel<Name extends FactName, More extends object = object>(
  list: ListPanel<Name, More>,
): Panel<ListData<Facts[Name], More>> {
  type Data = ListData<Facts[Name], More>;
  const { name, title, fact, letter, section, totals } = list;

  function rowsOf(data: Data, token: string): Row[] {
    return data.items.flatMap((item, index) => {
      const id = `${letter}${index + 1}`;
      const own = list.row(item, index, data);
      const row = isWork(item as object) ? workRow(item as Work, own) : own;
      return [{ ...row, id }, ...(list.below?.(item, id, token) ?? [])];
    });
  }

  function present(data: Data, from: Pick<PresentFrom, 'profile'>): Presentation {
    const rows = rowsOf(data, from.profile.token);
    const works = (data.items as readonly object[]).filter(isWork);
    const failed = rows.filter(({ badges }) => badges?.includes('failed')).length;
    const { above = [], below = [] } = list.sections?.(data) ?? {};
    const counted: Figure[] =
      totals === undefined
        ? []
        : [
            { label: totals[0], value: data.items.length, compare: 'cost' },
            { label: totals[1], value: coveredMs(works), unit: 'ms', compare: 'cost' },
            { label: 'Failed', value: failed, tone: failed > 0 ? 'bad' : 'plain' },
          ];
    return {
      figures: [...counted, ...(list.figures?.(data, from) ?? [])],
      sections: [...above, { card: 'in order', ...section, rows }, ...below],
    };
  }

  return {
    name,
    title,
    data(record) {
      const items = record.all(fact);
      const more = list.more?.(record) ?? null;
      return items.length === 0 && more === null ? null : ({ items, ...more } as Data);
    },
    rows: present,
    menu: {
      ...list.menu,
      summary(data, profile) {
        const count = data.items.length;
        const shown = rowsSummary(present(data, { profile })) ?? {
          text: numberHelpers.count(count),
          tone: 'plain',
        };
        return { count, ...shown, ...list.summary?.(data) };
      },
    },
    recorded: {
      facts: { [fact]: list.noun, ...list.facts },
      searched: list.searched,
      nothing: list.nothing,
      spans(data, { endMs }) {
        const drafts: SpanDraft[] = [];
        for (const [index, item] of data.items.entries()) {
          const label = list.span?.(item) ?? null;
          if (label === null || !isWork(item as object)) continue;
          const work = item as Work;
          const around = typeof work.inside === 'number' ? drafts[work.inside] : undefined;
          const span = { ...workSpan(work, endMs), kind: list.kind ?? 'work' };
          drafts.push({
            ...span,
            label: shorten(label, 100),
            panel: name,
            anchor: `${letter}${index + 1}`,
            ...(work.isSync === true ? { ranMs: span.durationMs } : {}),
            ...(typeof work.error === 'string' ? { failed: 'failed' } : {}),
            ...(around === undefined ? {} : { inside: around }),
          });
        }
        return [...drafts, ...(list.moreSpans?.(data) ?? [])];
      },
    },
  };
}
