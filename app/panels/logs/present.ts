import type { Figure, Presentation, Row } from '../../profiler/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { LEVELS, LEVEL_TITLES, type LogEntry, type LogsData, totalOf } from './data.ts';
import { shapeOf } from './groups.ts';
import { takeStack } from './stack.ts';

const TONES = { error: 'bad', warn: 'warn', info: 'plain', debug: 'plain' } as const;
/** Characters of a message that identify it in a comparison. */
const KEY_LENGTH = 300;

function rowOf(entry: LogEntry, index: number): Row {
  const { level, channel, message, context, caller, atMs, after } = entry;
  const taken = takeStack(context);
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
    key: `${level} ${channel}: ${shapeOf(message.slice(0, KEY_LENGTH))}`,
    ...(taken === null ? {} : { block: { text: taken.stack } }),
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
        id: 'lines',
        title: 'Log lines',
        unit: 'at',
        columns: { label: 'Level', text: 'Message', place: 'Called from' },
        rows: lines.map(rowOf),
        card: 'in order',
      },
    ],
  };
}
