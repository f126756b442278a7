import type { Unkept } from '../shared/unkept.ts';
import type { Json } from '../../profiler/json.ts';

export interface ViewEntry {
  name: string;
  file: string | null;
  startMs: number;
  durationMs: number | null;
  /** Without the partials inside. */
  selfMs: number | null;
  depth: number;
  parent: number | null;
  locals: Json;
  caller: string | null;
  error: string | null;
  /** `ejs`, `pug` …; null if unknown. */
  engine: string | null;
  /** Files that the engine has compiled into this template; absent if it names none. */
  includes?: readonly string[];
}

/** What each profile stores. */
export interface KeptViews {
  /** With the engine if the file name does not show it. */
  views: (Omit<ViewEntry, 'selfMs' | 'engine'> & { engine?: string })[];
  /** Past the recording limit; absent if all were kept. */
  unkept?: Unkept;
}

export interface ViewsData {
  views: ViewEntry[];
  unkept?: Unkept;
  /** With what is not kept. */
  totals: { views: number; templates: number; durationMs: number; engines: string[] };
}
