import type { PresentFrom } from '../../profiler/panel.ts';
import type { Presentation } from '../../profiler/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { timeFigure } from '../shared/timeline-data.ts';
import type { RuntimeData } from './data.ts';
import { blockedLabel } from './spans.ts';

const { bytesText, durationText } = numberHelpers;

export function presentRuntime(data: RuntimeData, { profile }: Pick<PresentFrom, 'profile'>): Presentation {
  const {
    durationMs,
    cpuUserMs,
    cpuSystemMs,
    loopUtilization,
    blocks,
    collections,
    memory,
    concurrent,
    totals,
  } = data;
  const cpuMs = cpuUserMs + cpuSystemMs;
  return {
    card: { text: `${bytesText(memory.heapUsed)} heap` },
    figures: [
      { label: 'CPU of the process', value: cpuMs, unit: 'ms', compare: 'cost', measured: true },
      { label: 'Share of one core', value: durationMs > 0 ? cpuMs / durationMs : null, unit: 'share' },
      { label: 'Event loop utilization', value: loopUtilization, unit: 'share' },
      { label: 'Event loop blocked', value: totals.blockedMs, unit: 'ms', compare: 'cost' },
      timeFigure(profile, 'collection'),
      { label: 'Heap used', value: memory.heapUsed, unit: 'bytes', compare: 'neutral' },
    ],
    sections: [
      {
        id: 'blocked',
        title: 'What blocked this request',
        columns: { text: 'What' },
        card: 'largest',
        rows: blocks.map(({ startMs, durationMs: ms, cpuMs, by }, index) => ({
          id: `h${index + 1}`,
          text: blockedLabel({ by }, profile.token),
          number: ms,
          tone: 'warn',
          fields: [
            { label: 'Start', value: startMs, unit: 'at' },
            { label: 'CPU', value: cpuMs, unit: 'ms' },
          ],
        })),
      },
      {
        id: 'collections',
        title: 'Garbage collections',
        columns: { text: 'Kind' },
        rows: collections.map(({ startMs, durationMs: ms, kind }, index) => ({
          id: `gc${index + 1}`,
          text: kind,
          number: ms,
          fields: [{ label: 'Start', value: startMs, unit: 'at' }],
        })),
      },
      {
        id: 'process',
        title: 'Process',
        rows: [
          { label: 'User CPU', text: durationText(cpuUserMs) },
          { label: 'System CPU', text: durationText(cpuSystemMs) },
          { label: 'Times the event loop was blocked', text: blocks.length, note: 'for longer than 10 ms' },
          {
            label: 'Garbage collections',
            text: collections.length,
            note: 'reported before the request ended',
          },
          { label: 'Resident memory', text: bytesText(memory.rss) },
          { label: 'Heap', text: `${bytesText(memory.heapUsed)} of ${bytesText(memory.heapTotal)}` },
          { label: 'External', text: bytesText(memory.external), note: 'buffers and bound objects' },
          { label: 'Overlapping requests', text: concurrent - 1 },
        ],
      },
    ],
  };
}
