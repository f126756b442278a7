/**
 * Applies the masking of texts to a tree of plain JSON. The hottest part of recording: what is clean stays as it is
 * (copy on write), a path is written down only where something is masked, and what was found clean is remembered, since
 * names, patterns, places and pages repeat from request to request. Recursion is bounded by a depth cap.
 */
import { createMemory, type TextMemory } from './redact-memory.ts';
import { learn, MASK, maskByName } from './redact-rules.ts';

/** A place where something was masked, and by which rule. */
export interface MaskedValue {
  /** Path in the profile, such as `panels.request.data.headers[2]`. */
  where: string;
  rule: 'name' | 'known value' | 'shape' | 'given as secret';
}

/** One walk over one tree. */
export interface Pass {
  /** Names and numbers on the way to where the walk is; what lies behind `depth` is of an earlier place. */
  path: (string | number)[];
  depth: number;
  /** Whether that is in lines of source. */
  isCode: boolean;
  /** Secrets that texts and fields gave away. */
  learned: Set<string>;
  /** Every text that is left, masked: sooner looked through than the tree. */
  texts: string[];
  masked: MaskedValue[];
}

export interface TreeRules {
  isSecretName: (name: string) => boolean;
  maskText: (text: string, pass: Pass) => string;
  /** A key that holds a known value, masked. */
  maskKey: (key: string) => string;
  clean: TextMemory;
}

const DEEPEST = 40;
/** Masked places listed per profile. */
const LISTED_PLACES = 200;
/** No rule finds anything in less. */
const SHORTEST_FIND = 5;
const LONGEST_KEY = 100;
const MOST_KEYS = 2500;

type Fields = Record<string, unknown>;

/** What is known of a key. */
interface Key {
  name: string;
  isSecret: boolean;
  /** Without known values. */
  safe: string;
  /** Nothing of it needs a second look. */
  isPlain: boolean;
  /** What followed last time: profiles have the same keys in the same order, so that most are found without looking. */
  next: Key | null;
}

const { hasOwnProperty: isOwn } = Object.prototype;

export function createPass(): Pass {
  return { path: [], depth: 0, isCode: false, learned: new Set(), texts: [], masked: [] };
}

/** `panels.request.data.headers[2]`. */
function printPath(path: Pass['path']): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

export function note({ masked, path, depth }: Pass, rule: MaskedValue['rule']): void {
  if (masked.length < LISTED_PLACES) masked.push({ where: printPath(path.slice(0, depth)), rule });
}

/** Lines of source, which the panels of exceptions and queries hold; a field that a client names so is none. */
function isExcerpt(path: Pass['path'], at: number): boolean {
  if (path[0] !== 'panels') return false;
  if (path[1] === 'database') return at === 5 && path[3] === 'excerpts';
  return path[1] === 'exception' && path[at - 2] === 'frames';
}

/** A copy with one field changed; `__proto__` is a field like any other. */
function withField(copy: Fields, key: string, value: unknown): void {
  if (key !== '__proto__') copy[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}

export function createTreeMasker({ isSecretName, maskText, maskKey, clean }: TreeRules) {
  const keys = createMemory<Key>(MOST_KEYS);
  let latest = createKey('');

  function createKey(name: string): Key {
    const safe = maskKey(name);
    const isSecret = isSecretName(name);
    const isPlain = !isSecret && safe === name && name !== 'value' && name !== 'excerpt';
    return { name, isSecret, safe, isPlain, next: null };
  }

  function keyOf(name: string): Key {
    const known = keys.get(name);
    if (known !== undefined) return known;
    const key = createKey(name);
    if (name.length <= LONGEST_KEY) keys.set(name, key);
    return key;
  }

  function nextKey(name: string): Key {
    const expected = latest.next;
    if (expected !== null && expected.name === name) return (latest = expected);
    const key = keyOf(name);
    latest.next = key;
    return (latest = key);
  }

  function text(value: string, depth: number, pass: Pass): string {
    if (value.length < SHORTEST_FIND || clean.has(value)) {
      pass.texts.push(value);
      return value;
    }
    pass.depth = depth;
    const known = pass.learned.size;
    const result = maskText(value, pass);
    if (result === value && pass.learned.size === known && !pass.isCode) clean.add(value);
    pass.texts.push(result);
    return result;
  }

  /** Everything below a secret name is masked, numbers and nested fields too; what is only a yes or no stays. */
  function secret(name: string, value: unknown, depth: number, pass: Pass): unknown {
    if (value === null || value === undefined || value === '' || typeof value === 'boolean') return value;
    pass.depth = depth;
    const shown = typeof value === 'string' ? maskByName(name, value) : MASK;
    if (shown !== value) note(pass, 'name');
    if (typeof value !== 'string') return shown;
    learn(name, value, pass.learned);
    const result = maskText(shown, pass);
    pass.texts.push(result);
    return result;
  }

  function walkList(list: unknown[], under: string | null, depth: number, pass: Pass): unknown[] {
    let copy: unknown[] | null = null;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      pass.path[depth] = index;
      const changed = walk(item, under, depth + 1, pass);
      if (changed === item) continue;
      copy ??= [...list];
      copy[index] = changed;
    }
    return copy ?? list;
  }

  /** The secret name of a field. `{ name: 'authorization', value: '…' }`: a row of a table carries it beside its value. */
  function secretOf(source: Fields, key: Key): string | null {
    if (key.name === 'value' && typeof source.name === 'string') {
      return keyOf(source.name).isSecret ? source.name : null;
    }
    return key.isSecret ? key.name : null;
  }

  /** A field whose key needs a look. */
  function walkField(source: Fields, key: Key, under: string | null, depth: number, pass: Pass): unknown {
    const { isCode } = pass;
    if (key.name === 'excerpt') pass.isCode = isExcerpt(pass.path, depth);
    const changed = walk(source[key.name], under ?? secretOf(source, key), depth + 1, pass);
    pass.isCode = isCode;
    return changed;
  }

  function walkFields(source: Fields, under: string | null, depth: number, pass: Pass): Fields {
    let copy: Fields | null = null;
    // A list of its keys for each object would cost more than to ask about each key.
    for (const name in source) {
      if (!isOwn.call(source, name)) continue;
      const item = source[name];
      const key = nextKey(name);
      pass.path[depth] = key.safe;
      const changed = key.isPlain
        ? walk(item, under, depth + 1, pass)
        : walkField(source, key, under, depth, pass);
      if (changed === item && key.safe === name) continue;
      copy ??= { ...source };
      if (key.safe !== name) Reflect.deleteProperty(copy, name);
      withField(copy, key.safe, changed);
    }
    return copy ?? source;
  }

  /** `under`: the secret name that the value stands below. */
  function walk(value: unknown, under: string | null, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') {
      return under === null ? text(value, depth, pass) : secret(under, value, depth, pass);
    }
    if (typeof value !== 'object' || value === null) {
      return under === null ? value : secret(under, value, depth, pass);
    }
    if (depth > DEEPEST) return under === null ? '[not followed]' : secret(under, value, depth, pass);
    return Array.isArray(value)
      ? walkList(value as unknown[], under, depth, pass)
      : walkFields(value as Fields, under, depth, pass);
  }

  return { walk };
}

/**
 * Puts in place what became of texts that hold what this request gave as a secret. Keys stay, lest a client could take any
 * field out of its profile by giving the name of the field as a password.
 */
export function forget(
  value: unknown,
  changed: ReadonlyMap<string, string>,
  depth: number,
  pass: Pass,
): unknown {
  if (typeof value === 'string') {
    const result = changed.get(value) ?? value;
    if (result === value) return value;
    pass.depth = depth;
    note(pass, 'given as secret');
    return result;
  }
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
  let copy: Fields | unknown[] | null = null;
  for (const key of Object.keys(value)) {
    const item = (value as Fields)[key];
    pass.path[depth] = Array.isArray(value) ? Number(key) : key;
    const result = forget(item, changed, depth + 1, pass);
    if (result === item) continue;
    copy ??= Array.isArray(value) ? [...(value as unknown[])] : { ...value };
    withField(copy as Fields, key, result);
  }
  return copy ?? value;
}
