import type { Unkept } from '../shared/unkept.ts';
import type { Json } from '../../profiler/json.ts';

export interface ViewEntry {
  name: string;
  file: string | null;
  startMs: number;
  durationMs: number | null;
  /** Without the partials inside. */
  ownMs: number | null;
  depth: number;
  parent: number | null;
  locals: Json;
  caller: string | null;
  error: string | null;
  /** `ejs`, `pug` …; null where neither file nor application tells. */
  engine: string | null;
}

/** What each profile keeps. */
export interface KeptViews {
  /** The engine stands there where the file does not tell it. */
  views: (Omit<ViewEntry, 'ownMs' | 'engine'> & { engine?: string })[];
  /** Past the recording limit; absent if all were kept. */
  unkept?: Unkept;
}

export interface ViewsData {
  views: ViewEntry[];
  unkept?: Unkept;
  /** With what is not kept. */
  totals: { views: number; templates: number; durationMs: number; engines: string[] };
}
