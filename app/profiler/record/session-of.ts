/** Properties such as `session` that middleware of the application set on a request, as plain data; no accessor runs. */
import type { Json } from '../json.ts';
import { toPlain } from './plain.ts';

/** A user may be a whole model of an ORM. */
const LIMITS = { depth: 4, width: 40, length: 500, total: 150 };

/** undefined if there is none; `unread` if it is an accessor. */
export function plainPropertyOf(live: object, name: string): { value: Json | undefined; unread?: true } {
  const own = Object.getOwnPropertyDescriptor(live, name);
  if (own === undefined) return { value: undefined };
  if (!('value' in own)) return { value: undefined, unread: true };
  const value: unknown = own.value;
  if (value === undefined || value === null || value === false) return { value: undefined };
  return { value: toPlain(value, LIMITS) };
}
