/**
 * Browser timings, drawn with the server's work on one scale. The difference between the two clocks is unknown, so they are joined at the
 * first byte. Its time on the way is unknown, too, so the server's part may have been earlier than drawn, by at most the rest of the wait.
 */
import { round, type SpanKind } from '../../profiler/read/span.ts';
import { dataOf } from '../shared/panel-data.ts';
import type { TimelineData } from '../shared/timeline-data.ts';
import type { BrowserTiming, LongTask } from '../../profiler/read/browser-timing.ts';
import type { Profile } from '../../profiler/profile.ts';
import { barsOf, type TimeBar } from '../../view-helpers/time-bars.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { type Tick, ticksOf } from '../../view-helpers/ticks.ts';
import { isRecord } from '../../profiler/json.ts';

const NUMBERS = [
  'requestStart', 'ttfb', 'responseEnd', 'domInteractive', 'domContentLoaded', 'load', 'fcp', 'lcp', 'redirects', 'cls',
  'moreLongTasks',
] as const; // prettier-ignore

type Measured = Pick<BrowserTiming, (typeof NUMBERS)[number]>;

const NAVIGATIONS: Readonly<Record<string, string>> = {
  navigate: 'opened',
  reload: 'reloaded',
  back_forward: 'by back or forward',
  prerender: 'prerendered',
};

const PAINTED: Readonly<Record<string, string>> = { text: 'of text', image: 'of an image' };

export interface BrowserRow {
  id: string;
  label: string;
  kind: SpanKind;
  depth: 0 | 1;
  startMs: number;
  durationMs: number | null;
  note: string | null;
  bars: TimeBar[];
}

export interface BrowserView {
  wholeMs: number;
  ticks: Tick[];
  /** `total`: a sum, no moment. */
  figures: { label: string; ms: number | null; text: string | null; total?: true }[];
  rows: BrowserRow[];
  /** Sentences: how the page was loaded, and how the clocks were joined. */
  said: string[];
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function wordIn(words: Readonly<Record<string, string>>, name: unknown): string | undefined {
  return typeof name === 'string' && Object.hasOwn(words, name) ? words[name] : undefined;
}

/** Another version may have stored another form. */
function measuredIn(timing: Record<string, unknown>): Measured {
  return Object.fromEntries(
    NUMBERS.flatMap((name) => (isAmount(timing[name]) ? [[name, timing[name]]] : [])),
  );
}

interface LongTasks {
  tasks: LongTask[];
  count: number;
  totalMs: number;
}

function tasksIn({ longTasks }: Record<string, unknown>, { moreLongTasks = 0 }: Measured): LongTasks {
  const listed: unknown[] = Array.isArray(longTasks) ? longTasks : [];
  const tasks = listed.flatMap((task): LongTask[] =>
    isRecord(task) && isAmount(task.start) && isAmount(task.duration)
      ? [{ start: task.start, duration: task.duration }]
      : [],
  );
  const totalMs = tasks.reduce((sum, { duration }) => sum + duration, 0);
  return { tasks, count: tasks.length + moreLongTasks, totalMs };
}

/** Position of the server's part in the browser's time, and how much earlier it may have been. */
function joinClocks(
  { ttfb, requestStart }: Measured,
  { headersMs }: TimelineData,
): { startMs: number; slackMs: number | null; tooLong: boolean } | null {
  if (ttfb === undefined || headersMs === null) return null;
  const earliest = requestStart ?? 0;
  const startMs = ttfb - headersMs;
  if (startMs < earliest) return { startMs: earliest, slackMs: null, tooLong: true };
  return { startMs, slackMs: requestStart === undefined ? null : startMs - earliest, tooLong: false };
}

type Joined = ReturnType<typeof joinClocks>;

function clockSentence(joined: Joined, { ttfb }: Measured, { headersMs }: TimelineData): string {
  if (joined === null) return 'The first byte was not measured on both sides, so the server’s time can’t be placed on this scale.'; // prettier-ignore
  const where = `The clocks of browser and server are aligned at the first byte: sent ${durationText(headersMs)} after the request began, received at ${durationText(ttfb)}.`;
  if (joined.tooLong)
    return `${where} The server took longer than the browser waited, for example because of a service worker or an early response, so its part starts with the wait.`;
  if (joined.slackMs === null)
    return `${where} The network time is unknown, so the server’s part may have been earlier.`;
  return `${where} ${durationText(joined.slackMs)} of the wait was network time, so the server’s part may have been up to that much earlier.`;
}

function serverBars({ slices, totalMs }: TimelineData, startMs: number): TimeBar[] {
  return barsOf(slices, totalMs).map((bar) => ({ ...bar, startMs: startMs + bar.startMs }));
}

function stretch(
  id: string,
  label: string,
  kind: SpanKind,
  [from, to]: readonly [number | undefined, number | undefined],
): BrowserRow[] {
  if (from === undefined || to === undefined || to <= from) return [];
  const durationMs = round(to - from);
  const bars = [{ kind, startMs: from, durationMs }];
  return [{ id, label, kind, depth: 0, startMs: round(from), durationMs, note: null, bars }];
}

function moment(id: string, label: string, at: number | undefined, hairMs: number): BrowserRow[] {
  if (at === undefined) return [];
  const bars = [{ kind: 'app', startMs: at, durationMs: hairMs }];
  return [{ id, label, kind: 'app', depth: 0, startMs: round(at), durationMs: null, note: null, bars }];
}

function rowsOf(
  measured: Measured,
  { data, joined, tasks, wholeMs }: { data: TimelineData; joined: Joined; tasks: LongTasks; wholeMs: number },
): BrowserRow[] {
  const { requestStart, ttfb, responseEnd, domInteractive, domContentLoaded, load, redirects } = measured;
  const hairMs = wholeMs / 300;
  const before = redirects
    ? `before the request, with ${count(redirects, 'redirect')}`
    : 'before the request';
  const server: BrowserRow[] =
    joined === null
      ? []
      : [
          {
            id: 'b-server',
            label: 'this request, on the server',
            kind: 'app',
            depth: 1,
            startMs: round(joined.startMs),
            durationMs: data.totalMs,
            note: null,
            bars: serverBars(data, joined.startMs),
          },
        ];
  const long: BrowserRow[] =
    tasks.tasks.length === 0
      ? []
      : [
          {
            id: 'b-tasks',
            label: count(tasks.count, 'long task'),
            kind: 'app',
            depth: 0,
            startMs: round(Math.min(...tasks.tasks.map(({ start }) => start))),
            durationMs: round(tasks.totalMs),
            note: tasks.tasks.length < tasks.count ? `the ${count(tasks.tasks.length)} longest drawn` : null,
            bars: tasks.tasks.map(({ start, duration }) => ({
              kind: 'app',
              startMs: start,
              durationMs: Math.max(duration, hairMs),
            })),
          },
        ];
  return [
    ...stretch('b-before', before, 'before', [0, requestStart]),
    ...stretch('b-wait', 'waiting for the first byte', 'before', [requestStart ?? 0, ttfb]),
    ...server,
    ...stretch('b-receive', 'receiving the response', 'app', [ttfb, responseEnd]),
    ...stretch('b-parse', 'parsing, until the DOM is interactive', 'app', [ttfb, domInteractive]),
    ...stretch('b-ready', 'scripts, until the DOM is ready', 'app', [domInteractive, domContentLoaded]),
    ...stretch('b-load', 'subresources, until the page is loaded', 'app', [domContentLoaded, load]),
    ...moment('b-fcp', 'first contentful paint', measured.fcp, hairMs),
    ...moment('b-lcp', 'largest contentful paint', measured.lcp, hairMs),
    ...long,
  ];
}

export function browserView(data: TimelineData, timing: unknown): BrowserView | null {
  if (!isRecord(timing)) return null;
  const measured = measuredIn(timing);
  const tasks = tasksIn(timing, measured);
  const { ttfb, responseEnd, domInteractive, domContentLoaded, load, fcp, lcp, cls } = measured;
  const joined = joinClocks(measured, data);
  const ends = [ttfb, responseEnd, domInteractive, domContentLoaded, load, fcp, lcp];
  const known = ends.filter((at) => at !== undefined);
  if (known.length === 0) return null;
  const serverEnd = joined === null ? 0 : joined.startMs + data.totalMs;
  const lastTask = tasks.tasks.reduce((end, { start, duration }) => Math.max(end, start + duration), 0);
  const wholeMs = Math.max(1, ...known, serverEnd, lastTask);
  const how = wordIn(NAVIGATIONS, timing.navigation);
  const painted = wordIn(PAINTED, timing.lcpKind) ?? null;
  const figure = (label: string, ms: number | undefined): BrowserView['figures'] =>
    ms === undefined ? [] : [{ label, ms, text: null }];
  return {
    wholeMs,
    ticks: ticksOf(0, wholeMs),
    figures: [
      ...figure('First byte', ttfb),
      ...figure('First paint', fcp),
      ...figure('Largest paint', lcp),
      ...figure('DOM ready', domContentLoaded),
      ...figure('Loaded', load),
      ...(cls === undefined ? [] : [{ label: 'Layout shift', ms: null, text: cls.toFixed(3) }]),
      ...(tasks.count === 0
        ? []
        : [{ label: count(tasks.count, 'long task'), ms: tasks.totalMs, text: null, total: true as const }]),
    ],
    rows: rowsOf(measured, { data, joined, tasks, wholeMs }).map((row) =>
      row.id === 'b-lcp' ? { ...row, note: painted } : row,
    ),
    said: [...(how === undefined ? [] : [`The page was ${how}.`]), clockSentence(joined, measured, data)],
  };
}

export function isDocument(profile: Profile): boolean {
  const type = dataOf(profile, 'request')?.response?.contentType ?? '';
  return /^text\/html|^application\/xhtml\+xml/i.test(type);
}
