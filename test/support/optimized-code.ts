/**
 * Registers hooks for the current `describe`: profilers leave optimized code alone, as they do while V8 measures coverage. To discard that
 * of a whole test run takes longer than most requests.
 */
export function withOptimizedCode(): void {
  before(() => {
    process.env.JEST_WORKER_ID = '1';
  });
  after(() => {
    delete process.env.JEST_WORKER_ID;
  });
}
