/** The fact `layer`: one call of a middleware, handler, router, error handler or parameter callback. Types only. */

export type LayerKind = 'middleware' | 'handler' | 'router' | 'error' | 'param';

export interface LayerFact {
  name: string;
  kind: LayerKind;
  pattern: string;
  method: string | null;
  source: string | null;
  startMs: number;
  durationMs: number | null;
  settledMs: number | null;
  nextMs: number | null;
  outcome: 'next' | 'threw' | 'running';
  error: boolean;
  depth: number;
  /** A name in `req.query` that its code sets where that is parsed anew at each read (Express 5). */
  setsQuery?: string;
  /** A library registered it. */
  isOfLibrary?: true;
  /** Names of the body that were there when it began, and not when the next one did. */
  removed?: string[];
  /** Names of values that it put on the request: `req.user`, `res.locals.valid`. */
  put?: string[];
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    layer: LayerFact;
  }
}
