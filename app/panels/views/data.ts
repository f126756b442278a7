import type { Unkept } from '../shared/unkept.ts';
import type { Facts } from '../../profiler/record/facts.ts';

type ViewFact = Facts['view'];

export interface ViewEntry extends Omit<ViewFact, 'engine'> {
  /** `ejs`, `pug` …; null if unknown. */
  engine: string | null;
}

export interface ViewsData {
  views: ViewEntry[];
  unkept?: Unkept;
  totals: { views: number; templates: number; engines: string[] };
}
