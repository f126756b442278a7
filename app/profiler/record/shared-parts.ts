/**
 * Values that many profiles have in common (settings, versions, the table of routes), masked and serialized once per process. Their id
 * is a hash of the content, so that all processes store the same value once. A panel's `shared` returns the same object while nothing
 * changed.
 */
import { createHash } from 'node:crypto';
import type { SharedValue } from '../read/conclude.ts';
import type { Redactor } from '../masking/redact.ts';
import type { SharedPart } from '../store/storage.ts';
import { dropOldest } from '../drop-oldest.ts';

export interface SharedParts {
  partOf(value: object): SharedPart;
  valueOf(id: string): SharedValue | undefined;
}

/** Limit of the values remembered by id. An application has few, unless its routes change with each request. */
const REMEMBERED = 200;

export function createSharedParts(redactor: Redactor): SharedParts {
  const known = new WeakMap<object, SharedPart>();
  const values = new Map<string, SharedValue>();

  function make(value: object): SharedPart {
    const safe: SharedValue = redactor.tree(value);
    const text = JSON.stringify(safe);
    const id = createHash('sha256').update(text).digest('hex').slice(0, 16);
    values.set(id, safe);
    dropOldest(values, REMEMBERED);
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
