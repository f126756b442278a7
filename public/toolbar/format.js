// Texts of the bar. The numbers in them are written as on the profiler's pages.
import { durationText, isNumber } from '../../app/view-helpers/number-texts.ts';

// Not used, because old libraries (Prototype.js) replace it: `Array.from` with a function, `reduce`, and JSON of arrays, which their `toJSON`
// turns into texts.

export function isToken(text) {
  return /^[0-9a-f]{6}$/.test(text ?? '');
}

/** In the bar itself, where a tenth of a millisecond says nothing: `314 ms`, `1.24 s`. */
export function shortDuration(ms) {
  return isNumber(ms) && ms >= 9.95 && ms < 999.5 ? `${Math.round(ms)} ms` : durationText(ms);
}

/** Nothing is longer than `most` characters; where it was, it ends with an ellipsis. */
export function cutText(text, most) {
  const all = String(text);
  return all.length > most ? `${all.slice(0, most - 1)}…` : all;
}

export function jsonText(value) {
  if (Array.isArray(value)) return `[${value.map(jsonText).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${jsonText(value[key])}`).join()}}`;
}

export function wholeOf(parts) {
  let whole = 0;
  for (const { ms } of parts) whole += ms;
  return whole;
}

/** An address without the origin where that is the page's own. */
export function shortUrl(url) {
  try {
    const { origin, host, pathname, search } = new URL(url, location.href);
    return `${origin === location.origin ? '' : host}${pathname}${search}`;
  } catch {
    return String(url);
  }
}
