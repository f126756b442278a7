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

/** Calls `send(timing, isLast)` with the fields of `POST -/report`. */
export function watchTiming({ send }) {
  const observers = [];
  const shifts = [];
  let tasks = [];
  let moreTasks = 0;
  let painted = 0;
  let largest = null;
  let sent = '';
  let timer = null;
  let isOver = false;

  function observe(type, take) {
    try {
      if (!PerformanceObserver.supportedEntryTypes.includes(type)) return;
      const observer = new PerformanceObserver((list) => list.getEntries().forEach(take));
      observer.observe({ type, buffered: true });
      observers.push([observer, take]);
    } catch {
      // Not measured here.
    }
  }

  function takeTask({ startTime, duration }) {
    if (startTime > LONGEST_MS) return;
    tasks.push({ start: roundedMs(startTime), duration: roundedMs(duration) });
    if (tasks.length <= MOST_TASKS) return;
    const [shortest] = [...tasks].sort((one, other) => one.duration - other.duration);
    tasks = tasks.filter((task) => task !== shortest);
    moreTasks += 1;
  }

  function read() {
    const [entry] = performance.getEntriesByType('navigation');
    if (entry === undefined) return null;
    const isEarly = entry.activationStart > 0;
    const {
      requestStart,
      responseStart,
      responseEnd,
      domInteractive,
      domContentLoadedEventEnd,
      loadEventEnd,
    } = entry;
    const timing = {
      navigation: isEarly ? 'prerender' : entry.type,
      redirects: Math.min(entry.redirectCount, 100),
      ...marksOf({
        requestStart,
        ttfb: responseStart,
        responseEnd,
        domInteractive,
        domContentLoaded: domContentLoadedEventEnd,
        load: loadEventEnd,
      }),
      longTasks: tasks,
      ...(moreTasks > 0 ? { moreLongTasks: moreTasks } : {}),
    };
    if (isEarly) return timing;
    return {
      ...timing,
      ...marksOf({ fcp: painted, lcp: largest?.startTime ?? 0 }),
      ...(largest === null ? {} : { lcpKind: largest.url ? 'image' : 'text' }),
      ...(painted > 0 ? { cls: worstShift(shifts) } : {}),
    };
  }

  function tell(isLast) {
    if (isOver) return;
    for (const [observer, take] of observers) observer.takeRecords().forEach(take);
    const timing = read();
    const text = jsonText(timing);
    if (timing === null || text === sent) return;
    sent = text;
    send(timing, isLast);
  }

  function settleSoon() {
    timer = setTimeout(() => quietly(() => tell(false)), SETTLED_MS);
  }

  /** Anything later belongs to a page that somebody came back to. */
  function leave() {
    if (document.visibilityState !== 'hidden' || sent === '') return;
    quietly(() => tell(true));
    stop();
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
    observe('longtask', takeTask);
    if (document.readyState === 'complete') settleSoon();
    else addEventListener('load', settleSoon, { once: true });
    document.addEventListener('visibilitychange', leave);
  }

  function stop() {
    isOver = true;
    clearTimeout(timer);
    for (const [observer] of observers.splice(0)) observer.disconnect();
    removeEventListener('load', settleSoon);
    document.removeEventListener('visibilitychange', leave);
  }

  if (document.prerendering) document.addEventListener('prerenderingchange', begin, { once: true });
  else begin();
}
