/** A number with its unit, and other values beside it, as text and as HTML. */
import type { Unit } from '../profiler/read/rows.ts';
import { numberHelpers } from './numbers.ts';
import type { SafeHtml } from './safe-html.ts';
import { textHelpers } from './text.ts';

const {
  bytes,
  bytesText,
  count,
  duration,
  durationText,
  offset,
  percent,
  percentText,
  timestamp,
  timestampText,
} = numberHelpers;

export const NUMBER_TITLES: Readonly<Record<Unit, string>> = {
  ms: 'Time',
  at: 'Time',
  bytes: 'Size',
  count: 'Count',
  share: 'Share',
  time: 'At',
};

export function amountText(value: number | null | undefined, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return durationText(value);
    case 'at':
      return typeof value === 'number' ? `+${durationText(value)}` : '–';
    case 'bytes':
      return bytesText(value);
    case 'count':
      return count(value);
    case 'share':
      return percentText(value, 1);
    case 'time':
      return timestampText(value);
  }
}

export function valueText(value: unknown, unit: Unit = 'count'): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return amountText(value, unit);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function noteOf(parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== '').join(', ');
}

function amountHtml(value: number | null, unit: Unit): SafeHtml | string {
  switch (unit) {
    case 'ms':
      return duration(value);
    case 'at':
      return offset(value);
    case 'bytes':
      return bytes(value);
    case 'count':
      return count(value);
    case 'share':
      return percent(value, 1);
    case 'time':
      return timestamp(value);
  }
}

export const amountHelpers = {
  amount: (value: unknown, unit: Unit = 'count'): SafeHtml | string =>
    value === null || value === undefined || typeof value === 'number'
      ? amountHtml(value ?? null, unit)
      : textHelpers.value(value),
} as const;
