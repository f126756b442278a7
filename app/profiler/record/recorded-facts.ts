/**
 * Facts of a request as its record has them: plain, masked, with times rounded to microseconds. Panels read them when somebody
 * looks at the request.
 */
import { round } from '../read/span.ts';
import type { BeyondFacts, Counted, Stretch } from './beyond-limit.ts';
import type { Context } from './context.ts';
import type { FactName, Facts } from './facts.ts';

export interface FactReader {
  all<N extends FactName>(name: N): readonly Facts[N][];
  first<N extends FactName>(name: N): Facts[N] | undefined;
  last<N extends FactName>(name: N): Facts[N] | undefined;
  /** Facts past the recording limit; undefined if all were recorded. */
  beyond(name: FactName): BeyondFacts | undefined;
}

export interface RecordedFacts {
  facts?: Partial<Record<FactName, readonly unknown[]>> | undefined;
  beyond?: Partial<Record<FactName, RecordedBeyond>> | undefined;
}

interface RecordedBeyond {
  count: number;
  byKey: readonly (readonly [key: string, counted: Counted])[];
  stretches: readonly Stretch[];
}

const NONE: readonly never[] = [];

/** A copy whose own times are rounded: members whose names end with `Ms`. */
export function withRoundedTimes<Fact>(fact: Fact): Fact {
  if (typeof fact !== 'object' || fact === null || Array.isArray(fact)) return fact;
  const copy = { ...fact } as Record<string, unknown>;
  for (const name of Object.keys(copy)) {
    const value = copy[name];
    if (typeof value === 'number' && name.endsWith('Ms')) copy[name] = round(value);
  }
  return copy as Fact;
}

function recordBeyond({ count, byKey, stretches }: BeyondFacts): RecordedBeyond {
  return {
    count,
    byKey: [...byKey].map(([key, counted]) => [
      key,
      { ...counted, durationMs: round(counted.durationMs), slowestMs: round(counted.slowestMs) },
    ]),
    stretches: stretches.map(({ startMs, durationMs }) => ({
      startMs: round(startMs),
      durationMs: round(durationMs),
    })),
  };
}

export function recordFacts(context: Context, names: readonly FactName[]): RecordedFacts {
  const facts: Partial<Record<FactName, unknown[]>> = {};
  const beyond: Partial<Record<FactName, RecordedBeyond>> = {};
  for (const name of names) {
    const list = context.all(name);
    if (list.length > 0) facts[name] = list.map(withRoundedTimes);
    const more = context.beyond(name);
    if (more !== undefined) beyond[name] = recordBeyond(more);
  }
  return {
    facts: Object.keys(facts).length === 0 ? undefined : facts,
    beyond: Object.keys(beyond).length === 0 ? undefined : beyond,
  };
}

export function readFacts({ facts = {}, beyond = {} }: RecordedFacts): FactReader {
  const all = <N extends FactName>(name: N): readonly Facts[N][] =>
    (facts[name] ?? NONE) as readonly Facts[N][];
  return {
    all,
    first: (name) => all(name)[0],
    last: (name) => all(name).at(-1),
    beyond(name) {
      const more = beyond[name];
      return more === undefined ? undefined : { ...more, byKey: new Map(more.byKey) };
    },
  };
}
