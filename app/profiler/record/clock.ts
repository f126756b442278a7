/** The clock, also while a test of the application has a mock in its place that returns nothing, or throws. */
export function epochMs(): number {
  try {
    const now = Date.now();
    if (Number.isFinite(now)) return now;
  } catch {
    // Its error is meant for the application.
  }
  return Math.round(performance.timeOrigin + performance.now());
}
