/** The fact `layer`: one call of a middleware, handler, router, error handler or parameter callback. Types only. */

export type LayerKind = 'middleware' | 'handler' | 'router' | 'error' | 'param';

export interface LayerFact {
  name: string;
  kind: LayerKind;
  pattern: string;
  method: string | null;
  source: string | null;
  startMs: number;
  /** Until the function returned, including what ran inside `next()`; null while it runs. */
  durationMs: number | null;
  /** Until its promise settled; null if it returned none, or it runs. */
  settledMs: number | null;
  /** From its start until the following layer started; null if none did. */
  nextMs: number | null;
  outcome: 'next' | 'threw' | 'running';
  /** It threw, rejected, or passed an error to `next`. */
  error: boolean;
  /** 0 in the application's own router, one more in each router mounted in another. */
  depth: number;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    layer: LayerFact;
  }
}
