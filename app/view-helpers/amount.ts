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

interface Format {
  /** Of a column. */
  title: string;
  text: (value: number | null | undefined) => string;
  html: (value: number | null | undefined) => SafeHtml | string;
}

export const FORMATS: Readonly<Record<Unit, Format>> = {
  ms: { title: 'Time', text: durationText, html: duration },
  at: {
    title: 'Time',
    text: (value) => (typeof value === 'number' ? `+${durationText(value)}` : '–'),
    html: offset,
  },
  bytes: { title: 'Size', text: bytesText, html: bytes },
  count: { title: 'Count', text: count, html: count },
  share: {
    title: 'Share',
    text: (value) => percentText(value, 1),
    html: (value) => percent(value, 1),
  },
  time: { title: 'At', text: timestampText, html: timestamp },
};

export function amountText(value: number | null | undefined, unit: Unit): string {
  return FORMATS[unit].text(value);
}

export function valueText(value: unknown, unit: Unit = 'count'): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return amountText(value, unit);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function noteOf(parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== '').join(', ');
}

export const amountHelpers = {
  amount: (value: unknown, unit: Unit = 'count'): SafeHtml | string =>
    value === null || value === undefined || typeof value === 'number'
      ? FORMATS[unit].html(value)
      : textHelpers.value(value),
} as const;
