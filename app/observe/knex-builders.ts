/**
 * Writes that were built -> facts `built`: a Knex query runs only when it is awaited, so one that is forgotten fails silently. Reads are
 * not watched: they are built conditionally more often, and a missing result is noticed.
 */
import type { Context } from '../profiler/context.ts';
import type { FindCaller } from './caller.ts';
import { replaceMethod } from './channels/wrap-method.ts';

/** Changed in place: whether it ran is known later. */
export interface BuiltFact {
  /** `update products` */
  label: string;
  /** The line that made it a write; null if unknown. */
  caller: string | null;
  /** It was compiled: run, made part of another query, or its SQL was asked for. */
  ran: boolean;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    built: BuiltFact;
  }
}

/** What we use of Knex's query builder that its types don't declare. */
export interface Builder {
  client?: unknown;
  _single?: { table?: unknown };
  [method: string]: unknown;
}

export interface BuilderWatchOptions {
  /** Whose methods are wrapped. */
  prototype: Builder;
  /** The context that a builder belongs to; null if it is not recorded. */
  contextOf: (client: unknown) => Context | null;
  findCaller?: FindCaller | undefined;
}

export interface BuilderWatch {
  /** A builder was compiled. */
  compiled(builder: unknown): void;
  /** The line that made it a write; null for a read. */
  callerOf(builder: unknown): string | null;
  undo: (() => void)[];
}

const WRITES: Readonly<Record<string, string>> = {
  insert: 'insert into',
  update: 'update',
  delete: 'delete from',
  del: 'delete from',
};
const LONGEST = 80;

function tableOf({ _single: single }: Builder): string {
  return typeof single?.table === 'string' ? single.table.slice(0, LONGEST) : '…';
}

export function watchBuilders({ prototype, contextOf, findCaller }: BuilderWatchOptions): BuilderWatch {
  const built = new WeakMap<object, BuiltFact>();
  const undo: (() => void)[] = [];

  function note(builder: Builder, write: string, caller: () => string | null): void {
    if (built.has(builder)) return;
    const context = contextOf(builder.client);
    if (context === null || context.isFull('built')) return;
    const fact: BuiltFact = { label: `${write} ${tableOf(builder)}`, caller: caller(), ran: false };
    built.set(builder, fact);
    context.add('built', fact, fact.label.length);
  }

  function compiled(builder: unknown): void {
    const fact = typeof builder === 'object' && builder !== null ? built.get(builder) : undefined;
    if (fact !== undefined) fact.ran = true;
  }

  for (const [name, write] of Object.entries(WRITES)) {
    const original = prototype[name];
    if (typeof original !== 'function') continue;
    const method = function (this: Builder, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      try {
        note(this, write, () => findCaller?.({ isOwn: true }) ?? null);
      } catch {
        // It is not watched.
      }
      return result;
    };
    undo.push(replaceMethod(prototype, name, method));
  }
  const { clone } = prototype;
  if (typeof clone === 'function')
    undo.push(
      replaceMethod(prototype, 'clone', function (this: unknown, ...args: unknown[]): unknown {
        // Whoever copies a query runs the copies.
        compiled(this);
        return Reflect.apply(clone, this, args) as unknown;
      }),
    );
  return {
    compiled,
    callerOf: (builder) =>
      typeof builder === 'object' && builder !== null ? (built.get(builder)?.caller ?? null) : null,
    undo,
  };
}
