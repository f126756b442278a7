/**
 * What a browser measured of a page, kept beside its profile as the late fact `timing`: sent by the toolbar, checked by
 * controllers/profiler/browser-timing.ts, drawn by the timeline panel. What is absent was not measured.
 */

/** Milliseconds; `start` since the navigation began. */
export interface LongTask {
  start: number;
  duration: number;
}

/** The late fact of a profile. */
export interface BrowserTiming {
  /** Milliseconds since the navigation began, as all up to `lcp`; `ttfb` is the first byte. */
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
  /** The longest of those over 50 ms. */
  longTasks?: LongTask[];
  /** Beside `longTasks`. */
  moreLongTasks?: number;
  navigation?: 'navigate' | 'reload' | 'back_forward' | 'prerender';
  redirects?: number;
}
