import type { Unkept } from '../shared/unkept.ts';
import type { Facts } from '../../profiler/facts.ts';

type ViewFact = Facts['view'];

export interface ViewEntry extends Omit<ViewFact, 'engine'> {
  /** Without the partials inside. */
  selfMs: number | null;
  /** `ejs`, `pug` …; null if unknown. */
  engine: string | null;
}

export interface ViewsData {
  views: ViewEntry[];
  unkept?: Unkept;
  /** With what is not kept. */
  totals: { views: number; templates: number; engines: string[] };
}
