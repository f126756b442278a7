/** What the toolbar shows of the log: how many of each level, and the lines that worry first. */
import type { PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { LogsData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';

const RANKS = { error: 3, warn: 2, info: 1, debug: 0 } as const;
const { count } = numberHelpers;

export function previewLogs({ lines, counts }: LogsData): PanelPreview {
  const ranked = lines
    .map((line, index) => ({ line, index }))
    .sort((a, b) => RANKS[b.line.level] - RANKS[a.line.level] || a.index - b.index);
  return {
    facts: (['error', 'warn', 'info', 'debug'] as const)
      .filter((level) => counts[level] > 0)
      .map((level) => [level, count(counts[level])]),
    ...firstRows(ranked, ({ line: { level, channel, message, caller }, index }) => ({
      text: message,
      note: noteOf(level, channel, caller),
      tone: level === 'error' ? 'bad' : level === 'warn' ? 'warn' : 'plain',
      row: `l${index + 1}`,
    })),
  };
}
