import type { Unkept } from '../shared/unkept.ts';
import type { Facts } from '../../profiler/facts.ts';

type ViewFact = Facts['view'];

export interface ViewEntry extends Omit<ViewFact, 'engine'> {
  /** Without the partials inside. */
  selfMs: number | null;
  /** `ejs`, `pug` …; null if unknown. */
  engine: string | null;
}

/** What each profile stores. */
export interface KeptViews {
  /** With the engine if the file name does not show it. */
  views: ViewFact[];
  /** Past the recording limit; absent if all were kept. */
  unkept?: Unkept;
}

export interface ViewsData {
  views: ViewEntry[];
  unkept?: Unkept;
  /** With what is not kept. */
  totals: { views: number; templates: number; durationMs: number; engines: string[] };
}
