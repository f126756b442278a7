/** What the page draws: what blocked the request, on its own axis. */
import type { PanelPage } from '../../profiler/panel.ts';
import { ticksOf } from '../shared/ticks.ts';
import type { RuntimeData } from './data.ts';
import { blockedLabel } from './spans.ts';

/** Rows that a page shows: the longest ones. */
const MOST_ROWS = 60;
/** A request that began so long before may still have run. */
const BEFORE_MS = 2000;

export function drawRuntime(data: RuntimeData, { profile }: PanelPage) {
  const { blocks, collections, durationMs } = data;
  const all = [
    ...blocks.map(({ startMs, durationMs: ms, by }, index) => ({
      id: `h${index + 1}`,
      kind: 'blocked',
      what: blockedLabel({ by }, profile.token),
      /** The request that blocked the event loop, if it was another one. */
      other: by !== undefined && by.profile !== profile.token ? by.profile : null,
      startMs,
      durationMs: ms,
    })),
    ...collections.map(({ kind, ...interval }, index) => ({
      ...interval,
      id: `gc${index + 1}`,
      kind: 'collection',
      what: `garbage collection, ${kind}`,
      other: null,
    })),
  ];
  const rows = all
    .sort((a, b) => b.durationMs - a.durationMs)
    .slice(0, MOST_ROWS)
    .sort((a, b) => a.startMs - b.startMs);
  const axisMs = Math.max(0.1, durationMs);
  return {
    rows,
    left: all.length - rows.length,
    axisMs,
    ticks: ticksOf(0, axisMs),
    /** Blocks that began while this request ran, or shortly before. */
    beside: {
      from: new Date(profile.startedAt - BEFORE_MS).toISOString(),
      until: new Date(profile.startedAt + Math.ceil(durationMs)).toISOString(),
    },
    beforeMs: BEFORE_MS,
  };
}
