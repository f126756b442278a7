/**
 * What many profiles have in common (settings, versions, the table of routes): masked and written down once per process,
 * known by a hash of its content, so that every process that has the same stores the same.
 *
 * In: the object that a panel's `shared` returns, the same one while nothing changed. Out: its id and text, and the value
 * by its id for profiles that are read before the storage has it.
 */
import { createHash } from 'node:crypto';
import type { SharedValue } from './complete-profile.ts';
import type { Redactor } from './redact.ts';
import type { SharedPart } from './storage.ts';

export interface SharedParts {
  partOf(value: object): SharedPart;
  /** undefined for what this process did not make, or made long ago. */
  valueOf(id: string): SharedValue | undefined;
}

/** Parts that can be asked for by id; an application has a handful, unless it keeps adding routes. */
const REMEMBERED = 200;

export function createSharedParts(redactor: Redactor): SharedParts {
  const known = new WeakMap<object, SharedPart>();
  const values = new Map<string, SharedValue>();

  function make(value: object): SharedPart {
    const safe: SharedValue = redactor.tree(value);
    const text = JSON.stringify(safe);
    const id = createHash('sha256').update(text).digest('hex').slice(0, 16);
    const [oldest] = values.keys();
    if (values.size >= REMEMBERED && oldest !== undefined) values.delete(oldest);
    values.set(id, safe);
    return { id, text };
  }

  return {
    partOf(value) {
      let part = known.get(value);
      if (part === undefined) {
        part = make(value);
        known.set(value, part);
      }
      return part;
    },
    valueOf: (id) => values.get(id),
  };
}
