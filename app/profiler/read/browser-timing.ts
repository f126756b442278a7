/**
 * Browser timings of a page, stored beside its profile as the late fact `timing`: sent by the toolbar, checked by
 * controllers/profiler/browser-report.ts, drawn by the timeline panel. Absent values were not measured.
 */

export interface LongTask {
  start: number;
  duration: number;
}

export interface BrowserTiming {
  /** Milliseconds since the start of the navigation, like all values down to `lcp`; `ttfb`: first byte. */
  requestStart?: number;
  ttfb?: number;
  responseEnd?: number;
  domInteractive?: number;
  domContentLoaded?: number;
  load?: number;
  fcp?: number;
  lcp?: number;
  lcpKind?: 'text' | 'image';
  /** Layout shift, without a unit. */
  cls?: number;
  /** The longest ones; all are over 50 ms. */
  longTasks?: LongTask[];
  /** Number of those that are not in `longTasks`. */
  moreLongTasks?: number;
  navigation?: 'navigate' | 'reload' | 'back_forward' | 'prerender';
  redirects?: number;
}
