/** What goes between the writer's thread and the one that serves requests. */

export interface ThreadData {
  schema: string;
  /** Width of a partition in milliseconds. */
  partitionMs: number;
}

export type ToThread =
  | {
      type: 'write';
      id: number;
      /** For `pg`: where to connect. */
      settings: Record<string, unknown>;
      /** Index rows as one JSON text: posting objects costs thirty times more than posting text. */
      indexes: string;
      documents: string[];
    }
  | { type: 'close' };

export type FromThread =
  | { type: 'written'; id: number; clashes: string[] }
  | { type: 'failed'; id: number; message: string; code?: string }
  | { type: 'notice'; sentence: string };
