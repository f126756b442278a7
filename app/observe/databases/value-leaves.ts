/**
 * The leaves of a value that is plain data: objects, lists and dates. Whatever would have to be asked for what it holds (a getter, a proxy,
 * an object of a class) makes the value one that is not compared. Of a large one, only the beginning is.
 */
import { types } from 'node:util';

export type LeafValue = string | number | boolean | null;
export type Leaf = readonly [path: string, value: LeafValue];

const MOST_NODES = 500;
/** Of a large value, which each read walks again. */
const NODES_OF_LARGE = 64;
const DEEPEST = 12;
const LONGEST_TEXT = 500;

export interface Leaves {
  leaves: readonly Leaf[];
  /** These are the first ones of a large value. */
  isCut: boolean;
}

export interface LeafChange {
  path: string;
  /** The nearest name in the path: of `lines.0.price` it is `price`, and of the length of a list that of the list. */
  name: string;
  /** Absent: the leaf was added, or removed. */
  oldValue?: LeafValue;
  newValue?: LeafValue;
}

class NotPlain extends Error {}

function membersOf(value: object, most: number): [string, PropertyDescriptor | undefined][] {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isList = Array.isArray(value) && prototype === Array.prototype;
  if (!isList && prototype !== Object.prototype && prototype !== null) throw new NotPlain();
  const names = isList
    ? Array.from({ length: Math.min(value.length, most + 1) }, (_item, at) => String(at))
    : Object.keys(value);
  if (!isList && names.length > MOST_NODES) throw new NotPlain();
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

/** null: it can't be compared. `isLarge`: only its beginning is wanted. */
export function leavesOf(root: unknown, isLarge = false): Leaves | null {
  const most = isLarge ? NODES_OF_LARGE : MOST_NODES;
  const leaves: Leaf[] = [];
  let nodes = 0;
  const walk = (value: unknown, path: string, depth: number): void => {
    if (++nodes > most) return;
    if (depth > DEEPEST) throw new NotPlain();
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
    const members = membersOf(held, most);
    for (const [name, member] of members) {
      if (member !== undefined && !('value' in member)) throw new NotPlain();
      walk(member?.value, path === '' ? name : `${path}.${name}`, depth + 1);
    }
    // Behind its items: one that was added is seen by the length.
    if (Array.isArray(held)) leaves.push([path === '' ? 'length' : `${path}.length`, held.length]);
    else if (members.length === 0) leaves.push([path, '{}']);
  };
  try {
    walk(root, '', 0);
    return nodes > most ? firstOf(leaves) : { leaves, isCut: false };
  } catch {
    return null;
  }
}

export function firstOf(leaves: readonly Leaf[]): Leaves {
  return { leaves: leaves.slice(0, NODES_OF_LARGE), isCut: true };
}

function nameIn(path: string): string {
  return path.replace(/\.length$/, '').split('.').findLast((part) => !/^\d+$/.test(part)) ?? ''; // prettier-ignore
}

/** The first leaf that is another one; if there is none, one that was removed or added, which is not known of a large value. */
export function changeBetween(was: Leaves, is: Leaves): LeafChange | null {
  const gone = new Map(was.leaves);
  let added: LeafChange | null = null;
  for (const [path, newValue] of is.leaves) {
    const oldValue = gone.get(path);
    const name = nameIn(path);
    if (oldValue === undefined) added ??= { path, name, newValue };
    else if (oldValue !== newValue) return { path, name, oldValue, newValue };
    gone.delete(path);
  }
  if (was.isCut || is.isCut) return null;
  const [removed] = gone;
  return removed === undefined ? added : { path: removed[0], name: nameIn(removed[0]), oldValue: removed[1] };
}
