/**
 * A thrown value as plain JSON: what the error describer returns, the exception panel stores and the error page shows.
 */
import type { Json } from './json.ts';

/** `own`: the application's code. `vendor`: below node_modules, or outside the application. */
export type FrameKind = 'own' | 'vendor' | 'node' | 'native';

/** A few lines of source round the place a frame stands at. */
export interface SourceExcerpt {
  /** Number of the first line. */
  from: number;
  /** Each cut at a few hundred characters. */
  lines: string[];
}

export interface ThrownFrame {
  /** Name of the function as the engine gives it; null for code outside any function. */
  function: string | null;
  /** Relative to the application's root with `/`, absolute outside it, `node:…` for Node's own; null for native code. */
  file: string | null;
  /** Counted from 1; null where unknown. */
  line: number | null;
  column: number | null;
  kind: FrameKind;
  /** Name of the package that a vendor frame belongs to. */
  package: string | null;
  /** The frame was awaited: the ones below it ran in an earlier turn. */
  async: boolean;
  /** `file:line:column` that really ran, where a source map led elsewhere. */
  ranFrom: string | null;
  /** Only own frames have one. */
  excerpt: SourceExcerpt | null;
}

/** One link of a cause chain. */
export interface ThrownLink {
  /** Class or name of an error; `string`, `null` … for what is none. */
  class: string;
  /** Whether it is an error at all; what is none has no stack. */
  isError: boolean;
  message: string;
  /** Characters left out of the message. */
  messageCut: number;
  code: string | number | null;
  /** The HTTP status it asks for. */
  status: number | null;
  /** Own enumerable properties, without those above. */
  properties: Record<string, Json>;
  frames: ThrownFrame[];
  framesCut: number;
  /** Members of an AggregateError, each with its own chain. */
  errors: Thrown[];
  errorsCut: number;
}

/** An error of which nothing is known. */
export const EMPTY_LINK: ThrownLink = {
  class: 'Error',
  isError: true,
  message: '',
  messageCut: 0,
  code: null,
  status: null,
  properties: {},
  frames: [],
  framesCut: 0,
  errors: [],
  errorsCut: 0,
};

/** What was thrown first, then what caused it, down to the root. */
export interface Thrown {
  chain: ThrownLink[];
  /** Why the chain ends before its root: it comes back to itself, or goes on for longer than is kept. */
  chainEnd: 'root' | 'circular' | 'cut';
}
