/** What differs between two JSON values, by path. */
import { isRecord, type Json } from '../../profiler/json.ts';
import { primaryKeyOf } from './primary-key.ts';

const MOST_DEEP = 8;

export interface Change {
  /** `.items[id 2].price` */
  path: string;
  was: Json | undefined;
  is: Json | undefined;
}

function keyOf(value: Json): Json | undefined {
  return isRecord(value) ? primaryKeyOf(value) : undefined;
}

/** Members by name, elements by their id or else by their place. */
function membersOf(value: Json): Map<string, Json> | null {
  if (Array.isArray(value)) {
    const keys = value.map(keyOf);
    const areNamed =
      value.length > 0 && keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
    return new Map(
      value.map((item, at) => [areNamed ? `[id ${JSON.stringify(keys[at])}]` : `[${at}]`, item]),
    );
  }
  return isRecord(value) ? new Map(Object.entries(value).map(([name, item]) => [`.${name}`, item])) : null;
}

/** Absent is `undefined`. */
export function* changesOf(was: Json, is: Json, path = '', depth = 0): Generator<Change> {
  const [before, now] = [membersOf(was), membersOf(is)];
  if (before === null || now === null || depth > MOST_DEEP) {
    if (JSON.stringify(was) !== JSON.stringify(is)) yield { path, was, is };
    return;
  }
  for (const [step, item] of now) {
    const old = before.get(step);
    if (old === undefined) yield { path: path + step, was: old, is: item };
    else yield* changesOf(old, item, path + step, depth + 1);
  }
  for (const [step, old] of before) if (!now.has(step)) yield { path: path + step, was: old, is: undefined };
}
