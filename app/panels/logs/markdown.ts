/** The logs panel as Markdown: one row for each line, in their order. */
import { blocks, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { LogEntry, LogsData } from './index.ts';

export function logsMarkdown({ lines, counts }: LogsData): string {
  const levels = Object.entries(counts).filter(([, count]) => count > 0);
  return blocks([
    `${numberHelpers.count(lines.length, 'line')}: ${levels.map(([level, count]) => `${count} ${level}`).join(', ')}.`,
    table<LogEntry>(
      [
        { title: 'Time', value: ({ atMs }) => `+${numberHelpers.durationText(atMs)}`, plain: true },
        { title: 'Level', value: ({ level }) => level },
        { title: 'Channel', value: ({ channel }) => channel },
        { title: 'Message', value: ({ message }) => message },
        { title: 'Context', value: ({ context }) => context },
        { title: 'Place', value: ({ caller }) => caller },
      ],
      lines,
    ),
  ]);
}
