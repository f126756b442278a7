import { shorten, type SpanDraft } from '../../profiler/span.ts';
import type { BlockedTime, KeptRuntime } from './data.ts';

/** What blocked the event loop, as far as it is known. */
export function blockedLabel({ by }: Pick<BlockedTime, 'by'>, token: string): string {
  if (by === undefined) return 'event loop blocked';
  return by.profile === token
    ? `event loop blocked here, in ${shorten(by.where, 120)}`
    : `event loop blocked by ${shorten(by.what, 120)}, in ${shorten(by.where, 120)}`;
}

/** Both are of the process, whatever middleware ran. */
export function processSpans({ blocks = [], collections = [] }: KeptRuntime, token: string): SpanDraft[] {
  const common = { kind: 'wait', panel: 'runtime', global: true } as const;
  return [
    ...blocks.map(({ startMs, durationMs, by }, index): SpanDraft => ({
      ...common,
      label: blockedLabel({ by }, token),
      startMs,
      durationMs,
      anchor: `h${index + 1}`,
      reason: 'blocked',
      ...(by !== undefined && by.profile !== token ? { token: by.profile } : {}),
    })),
    ...collections.map(({ startMs, durationMs, kind }, index): SpanDraft => ({
      ...common,
      label: `garbage collection, ${shorten(kind, 40)}`,
      startMs,
      durationMs,
      anchor: `gc${index + 1}`,
      reason: 'collection',
    })),
  ];
}
