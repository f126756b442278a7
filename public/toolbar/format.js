// Numbers with their units, as the profiler's pages write them; texts cut to a length.

// Not used, because old libraries (Prototype.js) replace it: `Array.from` with a function, `reduce`, and JSON of arrays, which their `toJSON`
// turns into texts.

export function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

/** 1284 -> `1,284`; with a noun `1 call`, `3 calls`. */
export function countText(value, noun) {
  const digits = String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
  return noun === undefined ? digits : `${digits} ${noun}${value === 1 ? '' : 's'}`;
}

export function durationText(ms) {
  if (!isNumber(ms)) return '–';
  if (ms < 0.05 && ms > 0) return '<0.1 ms';
  if (ms < 999.95) return `${ms.toFixed(1)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** In the bar itself, where a tenth of a millisecond says nothing: `314 ms`, `1.24 s`. */
export function shortDuration(ms) {
  return isNumber(ms) && ms >= 9.95 && ms < 999.5 ? `${Math.round(ms)} ms` : durationText(ms);
}

export function percentText(part, whole) {
  const percent = whole > 0 ? (part / whole) * 100 : 0;
  return percent > 0 && percent < 0.5 ? '<1 %' : `${Math.round(percent)} %`;
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
