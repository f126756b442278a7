/** Browser timings as the toolbar sends them, checked strictly: known names only, with numbers or a few known words. */
import { createError } from '../../errors.ts';
import type { BrowserTiming } from '../../profiler/browser-timing.ts';
import { TOKEN_PATTERN } from '../../urls.ts';
import { isRecord } from '../../profiler/json.ts';

/** An hour. */
const LONGEST_MS = 3_600_000;
const MOST_TASKS = 50;

type Reader = (value: unknown, name: string) => unknown;

function bad(sentence: string): never {
  throw createError('BAD_REQUEST', [sentence]);
}

function numberUpTo(most: number, unit: string): Reader {
  return (value, name) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > most)
      bad(`"${name}" of the timing must be a number from 0 to ${most}${unit}.`);
    return Math.round(value * 10_000) / 10_000;
  };
}

function wholeUpTo(most: number): Reader {
  const read = numberUpTo(most, '');
  return (value, name) => (Number.isInteger(value) ? read(value, name) : bad(`"${name}" of the timing must be a whole number.`)); // prettier-ignore
}

function oneOf(...words: readonly string[]): Reader {
  return (value, name) =>
    words.includes(value as string)
      ? value
      : bad(`"${name}" of the timing must be one of ${words.join(', ')}.`);
}

const ms = numberUpTo(LONGEST_MS, ' ms');

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
  longTasks(value, name) {
    if (!Array.isArray(value) || value.length > MOST_TASKS)
      bad(`"${name}" of the timing must be a list of at most ${MOST_TASKS}.`);
    return value.map((task) => readFields(task, TASK, name, Object.keys(TASK)));
  },
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

/** Throws BAD_REQUEST that says what is wrong. */
export function readTiming(body: string): { token: string; timing: BrowserTiming } {
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch {
    bad('The body is not JSON.');
  }
  if (!isRecord(given)) bad('The body must be an object with "token" and "timing".');
  const { token, timing } = given;
  if (typeof token !== 'string' || !TOKEN_PATTERN.test(token)) bad('"token" must be six hexadecimal digits.');
  return { token, timing: readFields(timing, FIELDS, 'timing') };
}
