/** Numbers with units, and times. Times are written in UTC; public/profiler/times.js shows them in the reader's zone. */
import {
  type Amount,
  count,
  durationText,
  group,
  isNumber,
  percentText,
  splitDuration,
} from './number-texts.ts';
import { markup, type SafeHtml } from './safe-html.ts';

export { count, durationText, percentText };

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = 86_400_000;
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

const dash = markup`<span class="quiet">&ndash;</span>`;

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

export function bytesText(bytes: Amount): string {
  return isNumber(bytes) ? splitBytes(bytes).join(' ') : '–';
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
