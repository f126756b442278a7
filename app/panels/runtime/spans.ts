import { shorten, type SpanDraft } from '../../profiler/read/span.ts';
import { timerName } from '../shared/timer-name.ts';
import type { BlockedTime, KeptRuntime } from './data.ts';

export function blockedLabel({ by, interval }: Pick<BlockedTime, 'by' | 'interval'>, token: string): string {
  if (interval !== undefined) return `event loop blocked by ${timerName(interval)}`;
  if (by === undefined) return 'event loop blocked';
  return by.profile === token
    ? `event loop blocked here, in ${shorten(by.where, 120)}`
    : `event loop blocked by ${shorten(by.what, 120)}, in ${shorten(by.where, 120)}`;
}

/** Both are of the process, whatever middleware ran. */
export function processSpans({ blocks, collections, concurrent }: KeptRuntime, token: string): SpanDraft[] {
  const common = { panel: 'runtime', global: true } as const;
  return [
    ...blocks.map(({ startMs, durationMs, by, interval }, index): SpanDraft => {
      // While no other request ran, it was code that this one waited for.
      const isOwn = interval === undefined && (by === undefined ? concurrent === 1 : by.profile === token);
      return {
        ...common,
        kind: isOwn ? 'app' : 'blocked',
        label: blockedLabel({ by, interval }, token),
        startMs,
        durationMs,
        anchor: `h${index + 1}`,
        ...(by !== undefined && !isOwn ? { token: by.profile } : {}),
      };
    }),
    ...collections.map(({ startMs, durationMs, kind }, index): SpanDraft => ({
      ...common,
      kind: 'collection',
      label: `garbage collection, ${shorten(kind, 40)}`,
      startMs,
      durationMs,
      anchor: `gc${index + 1}`,
    })),
  ];
}

/** Outside of the request's time: before it was read, and Hindsight's own work, which stands behind its end. */
export function outsideSpans({ before, own }: KeptRuntime, endMs: number): SpanDraft[] {
  const spans: SpanDraft[] = own.map(({ what, durationMs }) => ({
    kind: 'hindsight',
    label: `Hindsight’s ${what}`,
    startMs: endMs,
    durationMs,
  }));
  if (before === undefined) return spans;
  const { durationMs, by, interval } = before;
  const why =
    interval !== undefined
      ? `blocked by ${timerName(interval)}`
      : by === undefined
        ? 'event loop blocked'
        : `blocked by ${shorten(by.what, 120)}`;
  return [
    {
      kind: 'before',
      label: `before it was read, at most: ${why}`,
      startMs: -durationMs,
      durationMs,
      ...(by === undefined ? {} : { token: by.profile }),
    },
    ...spans,
  ];
}
