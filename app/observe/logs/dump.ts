/** `dump(value)` anywhere in a request stores a value with its profile; it is never shown in the response. */
import { types } from 'node:util';
import type { Json } from '../../profiler/json.ts';
import { defaultPlainLimits, type PlainLimits, toPlain } from '../../profiler/record/plain.ts';
import { field, makerOf } from '../../profiler/record/safe-read.ts';
import { bytesOf, NOWHERE } from '../observe-calls.ts';
import { withoutProfilerFrames } from '../stacks/profiler-frames.ts';
import type { Called } from '../stacks/caller.ts';
import type { ObserverParts } from '../subscribe.ts';

export interface DumpFact extends Called {
  value: Json;
  label: string | null;
  type: string;
  atMs: number;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    dump: DumpFact;
  }
}

/** Returns the value, so that it can be used inside an expression. Outside of a request it does nothing. */
export type Dump = <T>(value: T, label?: string) => T;

const LONGEST_TYPE = 80;
const STACK_LINES = 10;

function stackOf(error: object): string[] {
  const stack = field(error, 'stack');
  if (typeof stack !== 'string') return [];
  const lines = withoutProfilerFrames(stack)
    .split('\n')
    .map((line) => line.trim());
  return lines.filter((line) => line.startsWith('at ')).slice(0, STACK_LINES);
}

const LIMITS: PlainLimits = { ...defaultPlainLimits, stackOf };

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (types.isProxy(value)) return 'object';
  if (Array.isArray(value)) return 'list';
  const maker = makerOf(value);
  return maker === '' || maker === 'Object' ? 'object' : maker.slice(0, LONGEST_TYPE);
}

export function createDump({ tracker, findCaller }: ObserverParts): Dump {
  const dump: Dump = (value, label) => {
    const context = tracker.current();
    if (context === undefined || context.isFull('dump')) return value;
    const fact: DumpFact = {
      value: toPlain(value, LIMITS),
      label: label ?? null,
      type: typeOf(value),
      ...(findCaller?.called() ?? NOWHERE),
      atMs: context.elapsedMs(),
    };
    context.add('dump', fact, bytesOf(fact));
    return value;
  };
  return dump;
}
