import type { Detail, Figure, Presentation, Row } from '../../profiler/read/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { LEVELS, LEVEL_TITLES, type LogEntry, type LogsData, totalOf } from './data.ts';
import { readStack, takeStack } from './stack.ts';

const TONES = { error: 'bad', warn: 'warn', info: 'plain', debug: 'plain' } as const;
const KEY_LENGTH = 300;
const VALUE = /"[^"]*"|'[^']*'|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]+\b/gi;

function detailOf({ context, caller }: LogEntry): Detail[] {
  if (context === null) return [];
  const taken = takeStack(context);
  const { frames, dropped } = taken === null ? { frames: [], dropped: 0 } : readStack(taken.stack, caller);
  const value = taken === null || frames.length === 0 ? context : taken.rest;
  return [
    ...(value === null ? [] : [{ title: 'Context', value }]),
    ...(frames.length === 0 ? [] : [{ title: 'Stack', frames, left: dropped }]),
  ];
}

function rowOf(entry: LogEntry, index: number): Row {
  const { level, channel, message, context, caller, path, atMs, after } = entry;
  const taken = takeStack(context);
  const detail = detailOf(entry);
  return {
    id: `l${index + 1}`,
    label: level,
    text: message,
    number: atMs,
    tone: TONES[level],
    fields: [
      { label: 'Channel', value: channel },
      { label: 'Context', value: taken === null ? context : taken.rest },
    ],
    note: after ? 'after the response' : null,
    place: caller,
    path,
    key: `${level} ${channel}: ${message.slice(0, KEY_LENGTH).replace(VALUE, '#')}`,
    ...(taken === null ? {} : { block: { text: taken.stack } }),
    ...(detail.length === 0 ? {} : { detail: () => detail }),
  };
}

export function presentLogs({ lines, unkept, counts }: LogsData): Presentation {
  return {
    figures: [
      {
        label: 'Log lines',
        value: totalOf(counts),
        note: unkept === undefined ? undefined : `${numberHelpers.count(lines.length)} kept`,
        compare: 'neutral',
      },
      ...LEVELS.filter((level) => counts[level] > 0).map((level): Figure => ({
        label: LEVEL_TITLES[level],
        value: counts[level],
        tone: TONES[level],
      })),
    ],
    sections: [
      {
        id: 'log-lines',
        title: 'Log lines',
        unit: 'at',
        columns: { label: 'Level', text: 'Message', place: 'Called from' },
        facets: ['Level', 'Channel'],
        folds: 'similar',
        rows: lines.map(rowOf),
        card: 'in order',
      },
      ...(unkept === undefined
        ? []
        : [
            {
              id: 'counted',
              title: 'Counted past the recording limit',
              unit: 'count',
              columns: { label: 'Level', text: 'Written', number: 'Lines', place: 'Called from' },
              rows: unkept
                .toSorted((a, b) => b.count - a.count)
                .map(({ level, caller, count }) => ({
                  label: level,
                  text: 'between the lines above',
                  number: count,
                  tone: TONES[level],
                  place: caller,
                })),
            } as const,
          ]),
    ],
  };
}
