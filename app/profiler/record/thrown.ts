/**
 * A thrown value as plain JSON: what the error describer returns, the exception panel stores and the error page shows.
 */
import type { Json } from '../json.ts';

/** `own`: the application's code. `vendor`: in a package. */
export type FrameKind = 'own' | 'vendor' | 'node' | 'native';

export interface SourceExcerpt {
  from: number;
  lines: string[];
  /** The file was changed after the process had started, so other lines may have run. */
  isChanged?: true;
}

export interface ThrownFrame {
  /** Name of the function as the engine gives it; null for code outside any function. */
  function: string | null;
  /** Relative to the application's root with `/`, absolute outside it, `node:…` inside Node.js; null for native code. */
  file: string | null;
  /** From 1; null if unknown. */
  line: number | null;
  column: number | null;
  kind: FrameKind;
  package: string | null;
  /** The frame was awaited: the ones below it ran in an earlier turn. */
  async: boolean;
  /** `file:line:column` that really ran, if a source map maps it elsewhere. */
  ranFrom: string | null;
  excerpt: SourceExcerpt | null;
  /** Arguments and locals by name, if the debugger read them; a value that is no JSON is a text in brackets. */
  values?: Record<string, Json>;
  /** They are of a later throw: this frame had been awaiting. */
  isRethrow?: true;
  /** Frames that were left out before this one; absent if none were. */
  skipped?: number;
}

export interface ThrownLink {
  /** Class or name of an error; else `string`, `null` … */
  class: string;
  /** Whether it is an error; other values have no stack. */
  isError: boolean;
  message: string;
  messageTruncated: number;
  code: string | number | null;
  status: number | null;
  properties: Record<string, Json>;
  frames: ThrownFrame[];
  /** Members of an AggregateError, each with its own chain. */
  errors: Thrown[];
  errorsDropped: number;
  /** Errors of the chain that were left out before this one; absent if none were. */
  skipped?: number;
}

export const EMPTY_LINK: ThrownLink = {
  class: 'Error',
  isError: true,
  message: '',
  messageTruncated: 0,
  code: null,
  status: null,
  properties: {},
  frames: [],
  errors: [],
  errorsDropped: 0,
};

/** The thrown error first, then its causes, down to the root. */
export interface Thrown {
  chain: ThrownLink[];
  /** Where the chain ends: at the root, at a cycle, or where nothing more was recorded: that is no root. */
  chainEnd: 'root' | 'circular' | 'truncated';
}

/** `src/list.ts:22`, or the file alone; null for code without a file. */
export function frameLine(frame: Pick<ThrownFrame, 'file' | 'line'> | undefined): string | null {
  const { file = null, line = null } = frame ?? {};
  return file === null || line === null ? file : `${file}:${line}`;
}
