import { groupBy } from '../../profiler/group-by.ts';
import { round } from '../../profiler/read/span.ts';
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Detail, Presentation, Row } from '../../profiler/read/rows.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { totalMs } from '../shared/rows.ts';
import { shareFigure, timeFigure, timelineOf } from '../shared/timeline-data.ts';
import { keptNote } from '../shared/unkept.ts';
import type { ViewEntry, ViewsData } from './data.ts';

interface TemplateError {
  message: string;
  /** `/app/views/orders/show.ejs:12`; null if the message does not contain it. */
  place: string | null;
  lines: { number: number; text: string; failed: boolean }[];
}

const HEAD = /^(.{1,1000}?):(\d{1,7})$/;
const LINE = /^ *(>>)? *(\d{1,7})\|(?: (.*))?$/;

/** The message of a failed EJS template -> place, surrounding lines and the message itself. Messages of other engines are unchanged. */
function readTemplateError(error: string): TemplateError {
  const [first = '', ...rest] = error.split('\n');
  const head = HEAD.exec(first.trim());
  const lines: TemplateError['lines'] = [];
  let at = 0;
  for (; at < rest.length; at++) {
    const found = LINE.exec(rest[at] ?? '');
    if (found === null) break;
    lines.push({ number: Number(found[2]), text: found[3] ?? '', failed: found[1] !== undefined });
  }
  if (head === null || lines.length === 0) return { message: error, place: null, lines: [] };
  const message = rest.slice(at).join('\n').trim();
  return { message: message === '' ? first : message, place: `${head[1] ?? ''}:${head[2] ?? ''}`, lines };
}

function failureOf(error: string | null): Detail[] {
  if (error === null) return [];
  const { message, place, lines } = readTemplateError(error);
  if (place === null) return [];
  const text = lines.map((line) => line.text).join('\n');
  return [
    {
      title: place,
      note: message,
      block: {
        text,
        lines: lines.map((line) => ({
          text: line.text,
          number: line.number,
          mark: line.failed ? 'hot' : undefined,
        })),
      },
    },
  ];
}

/** Of each render, what no partial, statement or garbage collection took. */
function selfTimes({ views }: ViewsData, profile: Profile): (number | null)[] {
  const spans = timelineOf(profile)?.spans ?? [];
  const times = new Map(
    spans.flatMap(({ panel, anchor, selfMs }) => (panel === 'views' ? [[anchor, selfMs]] : [])),
  );
  return views.map(({ durationMs }, index) =>
    durationMs === null ? null : (times.get(`v${index + 1}`) ?? null),
  );
}

function rowOf(view: ViewEntry, index: number, selfMs: number | null): Row {
  const { name, file, engine, startMs, durationMs, depth, caller, path, error, locals, includes } = view;
  const detail = failureOf(error);
  return {
    id: `v${index + 1}`,
    text: name,
    number: selfMs,
    depth,
    tone: error === null ? 'plain' : 'bad',
    badges: error === null ? [] : ['failed'],
    note: durationMs === selfMs ? null : durationText(durationMs),
    place: caller,
    path,
    key: name,
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Time', value: durationMs, unit: 'ms' },
      { label: 'Engine', value: engine },
      { label: 'File', value: file },
      { label: 'Includes', value: includes?.join(', ') ?? null },
      { label: 'Locals', value: locals },
      { label: 'Error', value: error },
    ],
    ...(detail.length === 0 ? {} : { detail: () => detail }),
  };
}

function templateRows({ views, totals }: ViewsData, selfMs: readonly (number | null)[]): Row[] {
  if (totals.views === totals.templates) return [];
  const renders = views.map((view, index) => ({ ...view, selfMs: selfMs[index] ?? null }));
  const byFile = groupBy(renders, ({ file, name }) => file ?? name);
  return [...byFile.values()]
    .map((list): Row => {
      const times = list.map(({ durationMs }) => durationMs ?? 0);
      return {
        text: list[0]?.name ?? '',
        number: round(list.reduce((sum, view) => sum + (view.selfMs ?? 0), 0)),
        fields: [
          { label: 'Renders', value: list.length, unit: 'count' },
          { label: 'Time', value: round(totalMs(list)), unit: 'ms' },
          { label: 'Longest', value: Math.max(...times), unit: 'ms' },
        ],
      };
    })
    .sort((a, b) => (b.number ?? 0) - (a.number ?? 0));
}

export function presentViews(
  data: ViewsData,
  { profile }: Pick<PresentFrom, 'profile'>,
): Presentation {
  const { views, unkept, totals } = data;
  const selfMs = selfTimes(data, profile);
  return {
    figures: [
      { label: 'Renders', value: totals.views, note: keptNote(views.length, unkept) },
      { label: 'Templates', value: totals.templates },
      timeFigure(profile, 'view', 'Time in views'),
      shareFigure(profile, 'view'),
      {
        label: totals.engines.length > 1 ? 'Engines' : 'Engine',
        value: totals.engines.join(', ').slice(0, 80) || null,
      },
    ],
    sections: [
      {
        id: 'views',
        title: 'Call tree',
        note: 'in the order they ran; values as they were when the template ran, truncated',
        columns: { text: 'Template', note: 'Total', number: 'Self time', place: 'Rendered from' },
        card: 'largest',
        bars: 'view',
        folds: 'adjacent',
        rows: views.map((view, index) => rowOf(view, index, selfMs[index] ?? null)),
      },
      {
        id: 'templates',
        title: 'By template',
        note: 'all renders of each, the costliest first',
        columns: { text: 'Template', number: 'Self time' },
        rows: templateRows(data, selfMs),
      },
    ],
  };
}
