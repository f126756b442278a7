// The browser's timings of this document, in milliseconds since its navigation began, read from the browser's own entries. Sent once
// when loading has settled, and once more when the page is hidden. A page from the back/forward cache is no new document. A
// prerendered page is painted before anybody looks, so its paints are left out.

import { findHosts } from './bar.js';
import { jsonText } from './format.js';
import { quietly } from './hooks.js';

const SETTLED_MS = 1500;
const MOST_TASKS = 50;
const LONGEST_MS = 3_600_000;

function roundedMs(ms) {
  return Math.round(ms * 10) / 10;
}

/** Only what has happened, within the hour that the service accepts. */
function marksOf(marks) {
  const happened = Object.entries(marks).filter(([, ms]) => ms > 0 && ms <= LONGEST_MS);
  return Object.fromEntries(happened.map(([name, ms]) => [name, roundedMs(ms)]));
}

/** Shifts at most a second apart, within five seconds, add up: the definition of CLS. */
function worstShift(shifts) {
  let worst = 0;
  let sum = 0;
  let first = 0;
  let last = 0;
  for (const { startTime, value } of shifts) {
    const isNew = startTime - last > 1000 || startTime - first > 5000;
    first = isNew ? startTime : first;
    sum = isNew ? value : sum + value;
    last = startTime;
    worst = Math.max(worst, sum);
  }
  return Math.min(Math.round(worst * 10_000) / 10_000, 1000);
}

/** Those that took longest, in their order, and how many others there were. */
function longestOf(tasks) {
  const longest = [...tasks].sort((one, other) => other.duration - one.duration).slice(0, MOST_TASKS);
  const more = tasks.length - longest.length;
  const longTasks = longest
    .sort((one, other) => one.startTime - other.startTime)
    .map(({ startTime, duration }) => ({ start: roundedMs(startTime), duration: roundedMs(duration) }));
  return more > 0 ? { longTasks, moreLongTasks: more } : { longTasks };
}

/** Calls `send(timing)` with the fields of `POST -/report`. */
export function watchTiming({ send }) {
  const observers = [];
  const shifts = [];
  const tasks = [];
  let painted = 0;
  let largest = null;
  let sent = '';
  let isOver = false;

  function observe(type, take) {
    quietly(() => {
      if (!PerformanceObserver.supportedEntryTypes.includes(type)) return;
      const observer = new PerformanceObserver((list) => list.getEntries().forEach(take));
      observer.observe({ type, buffered: true });
      observers.push([observer, take]);
    });
  }

  function read() {
    const [entry] = performance.getEntriesByType('navigation');
    if (entry === undefined) return null;
    const isEarly = entry.activationStart > 0;
    const timing = {
      navigation: isEarly ? 'prerender' : entry.type,
      redirects: Math.min(entry.redirectCount, 100),
      ...marksOf({
        requestStart: entry.requestStart,
        ttfb: entry.responseStart,
        responseEnd: entry.responseEnd,
        domInteractive: entry.domInteractive,
        domContentLoaded: entry.domContentLoadedEventEnd,
        load: entry.loadEventEnd,
      }),
      ...longestOf(tasks),
    };
    if (isEarly) return timing;
    return {
      ...timing,
      ...marksOf({ fcp: painted, lcp: largest?.startTime ?? 0 }),
      ...(largest === null ? {} : { lcpKind: largest.url ? 'image' : 'text' }),
      ...(painted > 0 ? { cls: worstShift(shifts) } : {}),
    };
  }

  function tell() {
    if (isOver) return;
    for (const [observer, take] of observers) observer.takeRecords().forEach(take);
    const timing = read();
    const text = jsonText(timing);
    if (timing === null || text === sent) return;
    sent = text;
    send(timing);
  }

  function settleSoon() {
    setTimeout(() => quietly(tell), SETTLED_MS);
  }

  /** Anything later belongs to a page that somebody came back to. */
  function leave() {
    if (document.visibilityState !== 'hidden' || sent === '' || isOver) return;
    quietly(tell);
    isOver = true;
    for (const [observer] of observers) observer.disconnect();
  }

  function begin() {
    observe('paint', ({ name, startTime }) => {
      if (name === 'first-contentful-paint') painted = startTime;
    });
    observe('largest-contentful-paint', (entry) => {
      // An entry from a shadow root has no element. Once the bar is there, it may be the bar: its previews are large.
      if (entry.element !== null || findHosts().length === 0) largest = entry;
    });
    observe('layout-shift', (entry) => {
      if (!entry.hadRecentInput) shifts.push(entry);
    });
    observe('longtask', (entry) => {
      if (entry.startTime <= LONGEST_MS) tasks.push(entry);
    });
    if (document.readyState === 'complete') settleSoon();
    else addEventListener('load', settleSoon, { once: true });
    document.addEventListener('visibilitychange', leave);
  }

  if (document.prerendering) document.addEventListener('prerenderingchange', begin, { once: true });
  else begin();
}
