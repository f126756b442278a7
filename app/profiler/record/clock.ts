/** The clock, also while a test of the application has a mock in its place that returns nothing. */
export function epochMs(): number {
  const now = Date.now();
  return Number.isFinite(now) ? now : Math.round(performance.timeOrigin + performance.now());
}
