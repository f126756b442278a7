/** What the toolbar shows of the process: its memory, and what held the loop. */
import type { PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { RuntimeData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';

const { bytesText, count, durationText, percentText } = numberHelpers;

export function previewRuntime(data: RuntimeData): PanelPreview {
  const { memory, cpuUserMs, cpuSystemMs, loopUtilization, totals, concurrent, held } = data;
  const longest = held
    .map((hold, index) => ({ hold, index }))
    .sort((a, b) => b.hold.durationMs - a.hold.durationMs);
  return {
    text: `${bytesText(memory.heapUsed)} heap`,
    facts: [
      ['Heap', `${bytesText(memory.heapUsed)} of ${bytesText(memory.heapTotal)}`],
      ['Resident', bytesText(memory.rss)],
      ['CPU of the process', durationText(cpuUserMs + cpuSystemMs)],
      ['Event loop busy', percentText(loopUtilization, 1)],
      ...(totals.collectionMs > 0
        ? [['Garbage collection', durationText(totals.collectionMs)] as const]
        : []),
      ...(concurrent > 0 ? [['Requests at the same time', count(concurrent)] as const] : []),
    ],
    ...firstRows(longest, ({ hold: { durationMs, by }, index }) => ({
      text: 'event loop held',
      note: noteOf(durationText(durationMs), by?.where),
      tone: 'warn',
      row: `h${index + 1}`,
    })),
  };
}
