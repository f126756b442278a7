/**
 * The leaves of a value that is plain data: objects, lists and dates. Whatever would have to be asked for what it holds (a getter, a proxy,
 * an object of a class) makes the value one that is not compared, and so does a large one.
 */
import { types } from 'node:util';

export type LeafValue = string | number | boolean | null;
export type Leaf = readonly [path: string, value: LeafValue];

const MOST_NODES = 500;
const DEEPEST = 12;
const LONGEST_TEXT = 500;

export interface LeafChange {
  path: string;
  /** The nearest name in the path: of `lines.0.price` it is `price`, and of the length of a list that of the list. */
  name: string;
  /** Absent: the leaf was added, or removed. */
  oldValue?: LeafValue;
  newValue?: LeafValue;
}

class NotPlain extends Error {}

function membersOf(value: object): [string, PropertyDescriptor | undefined][] {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isList = Array.isArray(value) && prototype === Array.prototype;
  if (!isList && prototype !== Object.prototype && prototype !== null) throw new NotPlain();
  if (isList && value.length > MOST_NODES) throw new NotPlain();
  const names = isList ? Array.from(value, (_item, at) => String(at)) : Object.keys(value);
  return names.map((name) => [name, Object.getOwnPropertyDescriptor(value, name)]);
}

function scalarOf(value: unknown): LeafValue | undefined {
  switch (typeof value) {
    case 'string':
      if (value.length > LONGEST_TEXT) throw new NotPlain();
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'undefined':
      return '[undefined]';
    case 'object':
      return value === null ? null : undefined;
    default:
      throw new NotPlain();
  }
}

/** null: it can't be compared. */
export function leavesOf(root: unknown): Leaf[] | null {
  const leaves: Leaf[] = [];
  let nodes = 0;
  const walk = (value: unknown, path: string, depth: number): void => {
    if (++nodes > MOST_NODES || depth > DEEPEST) throw new NotPlain();
    const scalar = scalarOf(value);
    if (scalar !== undefined) {
      leaves.push([path, scalar]);
      return;
    }
    const held = value as object;
    if (types.isProxy(held)) throw new NotPlain();
    if (types.isDate(held) && Object.getPrototypeOf(held) === Date.prototype) {
      const time = Date.prototype.getTime.call(held);
      leaves.push([path, Number.isNaN(time) ? '[invalid Date]' : new Date(time).toISOString()]);
      return;
    }
    const members = membersOf(held);
    for (const [name, member] of members) {
      if (member !== undefined && !('value' in member)) throw new NotPlain();
      walk(member?.value, path === '' ? name : `${path}.${name}`, depth + 1);
    }
    // Behind its items: one that was added is seen by the length.
    if (Array.isArray(held)) leaves.push([path === '' ? 'length' : `${path}.length`, members.length]);
    else if (members.length === 0) leaves.push([path, '{}']);
  };
  try {
    walk(root, '', 0);
    return leaves;
  } catch {
    return null;
  }
}

function nameIn(path: string): string {
  return path.replace(/\.length$/, '').split('.').findLast((part) => !/^\d+$/.test(part)) ?? ''; // prettier-ignore
}

/** The first leaf that is another one; if there is none, one that was removed or added. */
export function changeBetween(before: readonly Leaf[], after: readonly Leaf[]): LeafChange | null {
  const gone = new Map(before);
  let added: LeafChange | null = null;
  for (const [path, newValue] of after) {
    const oldValue = gone.get(path);
    const name = nameIn(path);
    if (oldValue === undefined) added ??= { path, name, newValue };
    else if (oldValue !== newValue) return { path, name, oldValue, newValue };
    gone.delete(path);
  }
  const [removed] = gone;
  return removed === undefined ? added : { path: removed[0], name: nameIn(removed[0]), oldValue: removed[1] };
}
