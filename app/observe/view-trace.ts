/**
 * The views of a request as they run, nested: frames with their facts. Independent of the engine: `views.ts` reports when a template
 * begins and ends. Nothing thrown here reaches the host.
 */
import { types } from 'node:util';
import { type Context, createSlot } from '../profiler/record/context.ts';
import type { Repeating } from '../profiler/record/fact-list.ts';
import type { Json } from '../profiler/json.ts';
import { type PlainLimits, toPlain } from '../profiler/record/plain.ts';
import { describeError } from '../profiler/record/thrown-value.ts';
import type { Called } from './stacks/caller.ts';

export interface ViewFact extends Called {
  name: string;
  file: string | null;
  startMs: number;
  durationMs: number | null;
  depth: number;
  parent: number | null;
  locals: Json;
  error: string | null;
  /** The application's default engine, for what the handler rendered. */
  engine?: string;
  includes?: readonly string[];
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    view: ViewFact;
  }
}

export interface Frame {
  fact: ViewFact;
  index: number | null;
}

const REPEATED: Repeating<ViewFact> = { key: ({ caller, name }) => `${caller ?? ''}\n${name}` };
const LOCALS: PlainLimits = { depth: 5, width: 20, length: 200, total: 160 };
/** What Express and EJS add to the locals of the application. */
const NOT_OURS = new Set(['settings', '_locals', 'cache', 'filename', 'views']);
const FACT_BYTES = 300;
/** Average size of a local; measuring each would cost more than storing it. */
const LOCAL_BYTES = 150;

function sizeOf(locals: Json): number {
  return typeof locals === 'object' && locals !== null ? Object.keys(locals).length * LOCAL_BYTES : 0;
}

/** Names and values that the handler passed, including Express's `res.locals`. */
function localsOf(data: unknown): Json {
  if (typeof data !== 'object' || data === null) return {};
  if (types.isProxy(data)) return toPlain(data, LOCALS);
  const inherited: unknown = Object.getOwnPropertyDescriptor(data, '_locals')?.value;
  const own: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const source of [inherited, data]) {
    if (typeof source !== 'object' || source === null || types.isProxy(source)) continue;
    for (const name of Object.keys(source)) {
      if (NOT_OURS.has(name)) continue;
      const descriptor = Object.getOwnPropertyDescriptor(source, name);
      if (descriptor === undefined || typeof descriptor.value === 'function') continue;
      own[name] = 'value' in descriptor ? (descriptor.value as unknown) : '[getter]';
    }
  }
  return toPlain(own, LOCALS);
}

interface BegunView extends Called {
  name: string;
  file: string | null;
  data: unknown;
  isPart?: true;
}

export function createViewTrace() {
  const innermost = createSlot<Frame | null>('innermost view');

  /** Rendered by the application, and not ready: with several at once, the last one. */
  function unendedPage(context: Context): Frame | null {
    const facts = context.all('view');
    const index = facts.findLastIndex(({ depth, durationMs }) => depth === 0 && durationMs === null);
    const fact = facts[index];
    return fact === undefined ? null : { fact, index };
  }

  function running(context: Context): Frame | null {
    return innermost.get(context) ?? unendedPage(context);
  }

  function add(context: Context, { name, file, data, isPart, caller, path }: BegunView): Frame {
    const above = isPart === true ? running(context) : (innermost.get(context) ?? null);
    const fact: ViewFact = {
      name,
      file,
      startMs: context.elapsedMs(),
      durationMs: null,
      depth: above === null ? 0 : above.fact.depth + 1,
      parent: above?.index ?? null,
      // A partial receives the same locals again; only the page's are recorded. Those of an error page are its request's profile.
      locals: above === null && context.kind !== 'error_page' ? localsOf(data) : {},
      caller,
      ...(path === undefined ? {} : { path }),
      error: null,
    };
    const index = context.all('view').length;
    const isFirst = context.add('view', fact, FACT_BYTES + name.length + sizeOf(fact.locals), REPEATED);
    return { fact, index: isFirst ? index : null };
  }

  function end(context: Context, { fact }: Frame): void {
    fact.durationMs ??= context.elapsedMs() - fact.startMs;
  }

  return {
    running,
    open(context: Context, begun: BegunView): Frame | null {
      try {
        return add(context, begun);
      } catch {
        // A host's proxy may throw on any access.
        return null;
      }
    },
    end,
    fail(context: Context, frame: Frame, error: unknown): void {
      frame.fact.error = describeError(error).message.slice(0, 2000);
      end(context, frame);
    },
    within<T>(context: Context, frame: Frame, work: () => T): T {
      const before = innermost.get(context) ?? null;
      innermost.set(context, frame);
      try {
        return work();
      } finally {
        innermost.set(context, before);
      }
    },
  };
}
