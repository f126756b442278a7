import type { PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Presentation, Row } from '../../profiler/read/rows.ts';
import { bytesText, count, durationText } from '../../view-helpers/numbers.ts';
import { timeFigure } from '../shared/timeline-data.ts';
import type { RuntimeData } from './data.ts';
import { timerName } from '../shared/timer-name.ts';
import { blockedLabel } from './spans.ts';

/** A request that began so long before may still have run. */
const BEFORE_MS = 2000;

function overlapOf(concurrent: number): string {
  const whole = 'These figures are for the whole process, all threads, while this request ran';
  if (concurrent <= 1) return `${whole}. No other request overlapped with it.`;
  return `${whole}, and include ${count(concurrent - 1, 'other request')} that overlapped with it.`;
}

function beside({ startedAt }: Profile, durationMs: number): Record<string, string> {
  return {
    from: new Date(startedAt - BEFORE_MS).toISOString(),
    until: new Date(startedAt + Math.ceil(durationMs)).toISOString(),
  };
}

function grownText(what: NonNullable<RuntimeData['grown']>[number]['what'], name: string): string {
  if (what === 'interval') return timerName({ name });
  return what === 'listener'
    ? `listener of ${name.slice(0, 80)}`
    : `timer for ${name.slice(0, 20)} ms, which ran at once`;
}

/** Blocked until the request was read. */
function beforeRows({ before }: RuntimeData, token: string): Row[] {
  if (before === undefined) return [];
  const text = `before it was read: ${blockedLabel(before, token)}`;
  return [
    { id: 'before', text, number: before.durationMs, tone: 'warn', note: 'outside of the request’s time' },
  ];
}

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
    queuedMs = 0,
    totals,
  } = data;
  const cpuMs = cpuUserMs + cpuSystemMs;
  const overlapping = {
    title: 'Which',
    link: {
      label: `requests that started then, or in the ${durationText(BEFORE_MS)} before`,
      search: beside(profile, durationMs),
    },
  };
  return {
    lead: [overlapOf(concurrent)],
    card: { text: `${bytesText(memory.heapUsed)} heap` },
    figures: [
      { label: 'CPU of the process', value: cpuMs, unit: 'ms', compare: 'cost', measured: true },
      { label: 'Event loop utilization', value: loopUtilization, unit: 'share' },
      { label: 'Event loop blocked', value: totals.blockedMs, unit: 'ms', compare: 'cost' },
      timeFigure(profile, 'collection'),
      { label: 'Heap used', value: memory.heapUsed, unit: 'bytes', compare: 'neutral' },
    ],
    sections: [
      {
        id: 'blocked',
        title: 'Blocked time',
        ...(blocks.length > 0 ? { note: 'sampled every 20 ms, so a block may be up to 20 ms longer' } : {}),
        columns: { text: 'What' },
        card: 'largest',
        none: 'The event loop was never blocked for longer than 10 ms.',
        rows: [
          ...beforeRows(data, profile.token),
          ...blocks.map(({ startMs, durationMs: ms, cpuMs, by, interval }, index): Row => ({
            id: `h${index + 1}`,
            text: blockedLabel({ by, interval }, profile.token),
            place: interval?.place ?? null,
            number: ms,
            tone: 'warn',
            fields: [
              { label: 'Start', value: startMs, unit: 'at' },
              { label: 'CPU', value: cpuMs, unit: 'ms' },
            ],
            ...(by === undefined || by.profile === profile.token
              ? {}
              : { detail: () => [{ title: 'Blocked by', link: { label: by.what, token: by.profile } }] }),
          })),
        ],
      },
      {
        id: 'grown',
        title: 'Still active',
        columns: { text: 'What', place: 'Set up at' },
        rows: (data.grown ?? []).map(({ what, name, place, count: n }, index) => ({
          id: `left${index + 1}`,
          text: grownText(what, name),
          number: n,
          unit: 'count' as const,
          tone: 'warn' as const,
          place,
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
          { label: 'Event loop blocks', text: blocks.length, note: 'for longer than 10 ms' },
          {
            label: 'Garbage collections',
            text: collections.length,
            note: 'reported before the request ended',
          },
          ...(queuedMs < 1
            ? []
            : [{ label: 'Waiting for a CPU', text: durationText(queuedMs), note: 'the machine was busy' }]),
          { label: 'Resident memory', text: bytesText(memory.rss) },
          { label: 'Heap', text: `${bytesText(memory.heapUsed)} of ${bytesText(memory.heapTotal)}` },
          { label: 'External', text: bytesText(memory.external), note: 'buffers and bound objects' },
          ...(concurrent <= 1
            ? []
            : [{ label: 'Overlapping requests', text: concurrent - 1, detail: () => [overlapping] }]),
        ],
      },
    ],
  };
}
