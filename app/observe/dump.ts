/** `dump(value)` anywhere in a request stores a value with its profile; it is never shown in the response. */
import type { ContextTracker } from '../profiler/context.ts';
import type { Json } from '../profiler/json.ts';
import { defaultPlainLimits, type PlainLimits, toPlain } from '../profiler/plain.ts';
import type { FindCaller } from './caller.ts';
import { withoutProfilerFrames } from './profiler-frames.ts';

export interface DumpFact {
  value: Json;
  label: string | null;
  /** `string`, `object` …, or the name of the class. */
  type: string;
  caller: string | null;
  atMs: number;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    dump: DumpFact;
  }
}

export interface CreateDumpOptions {
  tracker: ContextTracker;
  findCaller?: FindCaller;
}

/** Returns the value, so that it can be used inside an expression. Outside of a request it does nothing. */
export type Dump = <T>(value: T, label?: string) => T;

const LONGEST_TYPE = 80;
const STACK_LINES = 10;

/** A list, because a text in a tree has no line breaks. */
function stackOf(error: Error): string[] {
  const { stack } = error;
  if (typeof stack !== 'string') return [];
  const lines = withoutProfilerFrames(stack)
    .split('\n')
    .map((line) => line.trim());
  return lines.filter((line) => line.startsWith('at ')).slice(0, STACK_LINES);
}

const LIMITS: PlainLimits = { ...defaultPlainLimits, stackOf };

/** Reads properties as data: a proxy may throw on any access, and no getter is called. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  try {
    if (Array.isArray(value)) return 'list';
    const prototype: unknown = Object.getPrototypeOf(value);
    const maker: unknown =
      prototype === null ? null : Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    if (typeof maker !== 'function' || maker === Object) return 'object';
    const name: unknown = Object.getOwnPropertyDescriptor(maker, 'name')?.value;
    return typeof name === 'string' && name !== '' ? name.slice(0, LONGEST_TYPE) : 'object';
  } catch {
    return 'object';
  }
}

export function createDump({ tracker, findCaller }: CreateDumpOptions): Dump {
  const dump: Dump = (value, label) => {
    const context = tracker.current();
    if (context === undefined || context.isFull('dump')) return value;
    const plain = toPlain(value, LIMITS);
    const fact: DumpFact = {
      value: plain,
      label: label ?? null,
      type: typeOf(value),
      caller: findCaller?.({ below: dump }) ?? null,
      atMs: context.elapsedMs(),
    };
    context.add('dump', fact, 100 + JSON.stringify(plain).length);
    return value;
  };
  return dump;
}
