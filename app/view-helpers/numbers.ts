/** Numbers with units, and times. Times are written in UTC; public/profiler/times.js shows them in the reader's zone. */
import { markup, type SafeHtml } from './safe-html.ts';

type Amount = number | null | undefined;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = 86_400_000;
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

const dash = markup`<span class="quiet">&ndash;</span>`;

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function group(digits: string): string {
  return digits.length < 4 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

export function count(value: Amount, singular?: string, plural = `${singular}s`): string {
  if (!isNumber(value)) return '–';
  const digits = `${value < 0 ? '−' : ''}${group(String(Math.abs(Math.round(value))))}`;
  if (singular === undefined) return digits;
  return `${digits} ${value === 1 ? singular : plural}`;
}

function splitDuration(ms: number): [string, string] {
  const size = Math.abs(ms);
  if (size > 0 && size < 0.05) return [ms < 0 ? '>−0.1' : '<0.1', 'ms'];
  if (size < 999.95) return [ms.toFixed(1), 'ms'];
  if (size < 59_995) return [(ms / 1000).toFixed(2), 's'];
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return [`${Math.floor(seconds / 60)} min ${seconds % 60}`, 's'];
  return [`${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)}`, 'min'];
}

function splitBytes(bytes: number): [string, string] {
  let size = bytes;
  let unit = 0;
  while (Math.abs(size) >= 1023.95 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return [unit === 0 ? group(String(Math.round(size))) : size.toFixed(1), BYTE_UNITS[unit] ?? 'B'];
}

function withUnit([number, unit]: [string, string]): SafeHtml {
  return markup`${number} <span class="u">${unit}</span>`;
}

export function durationText(ms: Amount): string {
  return isNumber(ms) ? splitDuration(ms).join(' ') : '–';
}

export function bytesText(bytes: Amount): string {
  return isNumber(bytes) ? splitBytes(bytes).join(' ') : '–';
}

export function percentText(part: Amount, whole: Amount): string {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return '–';
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 0.5 ? '<1 %' : `${Math.round(percent)} %`;
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0');
}

/** null if a Date can't hold the value; recorded times may be anything. */
function dateOf(epochMs: Amount): Date | null {
  return isNumber(epochMs) && Math.abs(epochMs) <= 8.64e15 ? new Date(epochMs) : null;
}

function timeText(epochMs: Amount): string {
  return dateOf(epochMs)?.toISOString().slice(-13, -5) ?? '–';
}

export function timestampText(epochMs: Amount): string {
  const date = dateOf(epochMs);
  if (date === null) return '–';
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ''} ${date.getUTCFullYear()}`;
  return `${day}, ${timeText(epochMs)}.${pad(date.getUTCMilliseconds(), 3)} UTC`;
}

function timeElement(epochMs: Amount, text: string): SafeHtml {
  const date = dateOf(epochMs);
  return date === null ? dash : markup`<time datetime="${date.toISOString()}">${text}</time>`;
}

function timestampElement(epochMs: Amount): SafeHtml {
  const date = dateOf(epochMs);
  if (date === null) return dash;
  return markup`<time datetime="${date.toISOString()}" data-full>${timestampText(epochMs)}</time>`;
}

/** `13:15:04`, or `19 Nov, 13:15:04` if that is not today. Both in UTC. */
function clockText(epochMs: Amount, now = Date.now()): string {
  const date = dateOf(epochMs);
  if (date === null) return '–';
  const isToday = Math.floor(date.getTime() / DAY) === Math.floor(now / DAY);
  return `${isToday ? '' : `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ''}, `}${timeText(epochMs)}`;
}

export const numberHelpers = {
  count,
  duration: (ms: Amount): SafeHtml => (isNumber(ms) ? withUnit(splitDuration(ms)) : dash),
  durationText,
  bytes: (bytes: Amount): SafeHtml => (isNumber(bytes) ? withUnit(splitBytes(bytes)) : dash),
  bytesText,
  percent(part: Amount, whole: Amount): SafeHtml {
    const text = percentText(part, whole);
    return text === '–' ? dash : withUnit([text.slice(0, -2), '%']);
  },
  percentText,
  offset: (ms: Amount): SafeHtml =>
    isNumber(ms) ? markup`${ms < 0 ? '' : '+'}${withUnit(splitDuration(ms))}` : dash,
  time: (epochMs: Amount): SafeHtml => timeElement(epochMs, timeText(epochMs)),
  timeText,
  clock: (epochMs: Amount): SafeHtml => timeElement(epochMs, clockText(epochMs)),
  clockText,
  timestamp: timestampElement,
  timestampText,
  zone: markup`<span data-zone>UTC</span>`,
  /** Position or length as an SVG attribute, `36.80%`; never outside 0 to 100. */
  at(part: Amount, whole: Amount): string {
    if (!isNumber(part) || !isNumber(whole) || whole <= 0) return '0%';
    return `${Math.min(100, Math.max(0, (part / whole) * 100)).toFixed(2)}%`;
  },
} as const;
