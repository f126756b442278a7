/** Reports of the toolbar, checked strictly: known names only, with numbers, a few known words, or texts of a limited length. */
import { createError } from '../../errors.ts';
import type { BrowserTiming } from '../../profiler/read/browser-timing.ts';
import { BROWSER_KINDS, type BrowserKind } from '../../profiler/read/browser-report.ts';
import { TOKEN_PATTERN } from '../../urls.ts';
import { isRecord } from '../../profiler/json.ts';

const LONGEST_MS = 3_600_000;
const MOST_TASKS = 50;

type Reader = (value: unknown, name: string) => unknown;

function bad(sentence: string): never {
  throw createError('BAD_REQUEST', [sentence]);
}

function numberUpTo(most: number, unit: string): Reader {
  return (value, name) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > most)
      bad(`"${name}" must be a number from 0 to ${most}${unit}.`);
    return Math.round(value * 10_000) / 10_000;
  };
}

function wholeUpTo(most: number): Reader {
  const read = numberUpTo(most, '');
  return (value, name) => (Number.isInteger(value) ? read(value, name) : bad(`"${name}" must be a whole number.`)); // prettier-ignore
}

function oneOf(...words: readonly string[]): Reader {
  return (value, name) =>
    words.includes(value as string) ? value : bad(`"${name}" must be one of ${words.join(', ')}.`);
}

const ms = numberUpTo(LONGEST_MS, ' ms');

const MOST_ITEMS = 20;
const MOST_CALLS = 3;

function textUpTo(most: number): Reader {
  return (value, name) =>
    typeof value === 'string' && value.length <= most
      ? value
      : bad(`"${name}" must be a text of at most ${most} characters.`);
}

function listOf(most: number, fields: Readonly<Record<string, Reader>>, required: readonly string[]): Reader {
  return (value, name) => {
    if (!Array.isArray(value) || value.length > most) bad(`"${name}" must be a list of at most ${most}.`);
    return value.map((item) => readFields(item, fields, name, required));
  };
}

const token: Reader = (value, name) =>
  typeof value === 'string' && TOKEN_PATTERN.test(value)
    ? value
    : bad(`"${name}" must be six hexadecimal digits.`);

const TASK: Readonly<Record<string, Reader>> = { start: ms, duration: ms };

const FIELDS: Readonly<Record<keyof BrowserTiming, Reader>> = {
  requestStart: ms,
  ttfb: ms,
  responseEnd: ms,
  domInteractive: ms,
  domContentLoaded: ms,
  load: ms,
  fcp: ms,
  lcp: ms,
  lcpKind: oneOf('text', 'image'),
  cls: numberUpTo(1000, ''),
  longTasks: listOf(MOST_TASKS, TASK, Object.keys(TASK)),
  moreLongTasks: wholeUpTo(1_000_000),
  navigation: oneOf('navigate', 'reload', 'back_forward', 'prerender'),
  redirects: wholeUpTo(100),
};

function readFields(
  given: unknown,
  fields: Readonly<Record<string, Reader>>,
  where: string,
  required: readonly string[] = [],
): Record<string, unknown> {
  if (!isRecord(given)) bad(`"${where}" must be an object.`);
  const missing = required.find((name) => given[name] === undefined);
  if (missing !== undefined) bad(`"${where}" lacks "${missing}".`);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const read = Object.hasOwn(fields, name) ? fields[name] : undefined;
      // An unknown name is not repeated: it is whatever the page sent.
      if (read === undefined) bad(`"${where}" has an unknown name; known names are ${Object.keys(fields).join(', ')}.`); // prettier-ignore
      return [name, read(value, name)];
    }),
  );
}

export interface ReportedCall {
  method?: string;
  url: string;
  status?: number;
  token?: string;
}

export interface ReportedItem extends Partial<ReportedCall> {
  kind: BrowserKind;
  agoMs: number;
  name?: string;
  message?: string;
  stack?: string;
  directive?: string;
  calls?: ReportedCall[];
}

export interface PageReport {
  /** Of the page, or of a call of a front end that has no page of ours; absent: the front end knows none. */
  token?: string;
  page: string;
  items: ReportedItem[];
}

interface TimingReport {
  token: string;
  timing: BrowserTiming;
}

const CALL: Readonly<Record<keyof ReportedCall, Reader>> = {
  method: textUpTo(20),
  url: textUpTo(1000),
  status: wholeUpTo(999),
  token,
};

const ITEM: Readonly<Record<keyof ReportedItem, Reader>> = {
  ...CALL,
  kind: oneOf(...BROWSER_KINDS),
  agoMs: ms,
  name: textUpTo(100),
  message: textUpTo(1000),
  stack: textUpTo(3000),
  directive: textUpTo(100),
  calls: listOf(MOST_CALLS, CALL, ['url']),
};

const TIMING: Readonly<Record<keyof TimingReport, Reader>> = {
  token,
  timing: (value, name) => readFields(value, FIELDS, name),
};

const REPORT: Readonly<Record<keyof PageReport, Reader>> = {
  token,
  page: textUpTo(1000),
  items: listOf(MOST_ITEMS, ITEM, ['kind', 'agoMs']),
};

export function readReport(body: string): PageReport | TimingReport {
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch {
    bad('The body is not JSON.');
  }
  const read =
    isRecord(given) && 'timing' in given
      ? readFields(given, TIMING, 'report', ['token', 'timing'])
      : readFields(given, REPORT, 'report', ['page', 'items']);
  return read as unknown as PageReport | TimingReport;
}
