/**
 * Masks the texts in a tree of plain JSON. This is the hottest part of recording: clean parts are not copied (copy on write), a path
 * is printed only if something is masked, and clean texts are cached, because names, patterns, places and pages repeat from request to
 * request. Recursion has a depth limit.
 */
import { createMemory, type TextMemory } from './redact-memory.ts';
import type { NameRule } from './redact-name-rule.ts';
import { isCardNumber } from './redact-numbers.ts';
import { isListedValue } from './redact-phrases.ts';
import { learn, MASK, maskByName } from './redact-rules.ts';

/** A place where something was masked, and by which rule. */
export interface MaskedValue {
  /** Path in the profile, such as `panels.request.data.headers[2]`. */
  where: string;
  rule: 'name' | 'known value' | 'shape' | 'given as secret';
}

/** One walk over one tree. */
export interface Pass {
  /** Names and indexes of the current place; entries from `depth` on are left over from an earlier place. */
  path: (string | number)[];
  depth: number;
  /** Whether the current place is in lines of source. */
  isCode: boolean;
  /** A host has given all objects properties that a loop over their keys meets. */
  isPolluted: boolean;
  /** Secret values found in texts and fields. */
  learned: Set<string>;
  /** Every text of the tree, after masking: faster to search than the tree. */
  texts: string[];
  masked: MaskedValue[];
}

export interface TreeRules {
  names: NameRule;
  maskText: (text: string, pass: Pass) => string;
  /** Masks known values in a key. */
  maskKey: (key: string) => string;
  clean: TextMemory;
}

const DEEPEST = 40;
/** Masked places listed per profile. */
const LISTED_PLACES = 200;
/** No rule finds anything in a shorter text. */
const SHORTEST_FIND = 5;
const LONGEST_KEY = 100;
const MOST_KEYS = 2500;

/** Texts that are no secret under any name: `access-control-allow-credentials: true`. */
const NO_SECRET = new Set<unknown>(['', 'true', 'false', 'null', 'undefined']);

/** A name in a list of names and values, or an option of a command. */
const LISTED_NAME = /^-{0,2}[A-Za-z][\w.-]*$/;

type Fields = Record<string, unknown>;

/** Cached properties of a key. */
interface Key {
  name: string;
  isSecret: boolean;
  /** Secret if its value looks random, or if another field says what it is. */
  isAmbiguous: boolean;
  /** The name with known values masked. */
  safe: string;
  /** The key needs no special treatment. */
  isPlain: boolean;
  /** The key that followed last time. Profiles have the same keys in the same order, so most need no lookup. */
  next: Key | null;
}

const { hasOwnProperty: isOwn } = Object.prototype;

/** `code` is a secret beside these (RFC 6749, section 4.1). */
function isOAuth(source: Fields): boolean {
  return ['grant_type', 'client_id', 'redirect_uri', 'code_verifier', 'state'].some((name) =>
    isOwn.call(source, name),
  );
}

export function createPass(): Pass {
  return {
    path: [],
    depth: 0,
    isCode: false,
    isPolluted: Object.keys(Object.prototype).length > 0,
    learned: new Set(),
    texts: [],
    masked: [],
  };
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

/** Whether a place is a source excerpt of the exception or database panel, or one by itself, and not a client's field named `excerpt`. */
function isExcerpt(path: Pass['path'], at: number): boolean {
  if (at === 0) return true;
  if (path[0] !== 'panels') return false;
  if (path[1] === 'database') return at === 5 && path[3] === 'excerpts';
  return path[1] === 'exception' && path[at - 2] === 'frames';
}

/** Sets one field of the copy; `__proto__` is a field like any other. */
function withField(copy: Fields, key: string, value: unknown): void {
  if (key !== '__proto__') copy[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}

export function createTreeMasker({ names, maskText, maskKey, clean }: TreeRules) {
  const keys = createMemory<Key>(MOST_KEYS);
  let latest = createKey('');

  function createKey(name: string): Key {
    const safe = maskKey(name);
    const isSecret = names.isSecretName(name);
    const isAmbiguous = !isSecret && names.mayBeSecret(name);
    const isPlain = !isSecret && !isAmbiguous && safe === name && name !== 'value' && name !== 'excerpt';
    return { name, isSecret, isAmbiguous, safe, isPlain, next: null };
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

  /** Masks everything below a secret name, including numbers and nested fields, but not booleans. */
  function secret(name: string, value: unknown, depth: number, pass: Pass): unknown {
    if (value === null || value === undefined || typeof value === 'boolean' || NO_SECRET.has(value))
      return value;
    pass.depth = depth;
    const shown = typeof value === 'string' ? maskByName(name, value) : MASK;
    if (shown !== value) note(pass, 'name');
    if (typeof value !== 'string') return shown;
    learn(name, value, pass.learned);
    const result = maskText(shown, pass);
    pass.texts.push(result);
    return result;
  }

  /** The secret name that an item of a list follows: `['authorization', 'Bearer …']`, `['--password', '…']`. */
  function nameBefore(list: unknown[], index: number): string | null {
    const name = list[index - 1];
    const value = list[index];
    if (typeof name !== 'string' || name.length > LONGEST_KEY || typeof value !== 'string') return null;
    if (!LISTED_NAME.test(name) || !keyOf(name).isSecret) return null;
    return name.startsWith('-') || isListedValue(value) ? name : null;
  }

  function walkList(list: unknown[], under: string | null, depth: number, pass: Pass): unknown[] {
    let copy: unknown[] | null = null;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      pass.path[depth] = index;
      const changed = walk(item, under ?? nameBefore(list, index), depth + 1, pass);
      if (changed === item) continue;
      copy ??= [...list];
      copy[index] = changed;
    }
    return copy ?? list;
  }

  /** The secret name of a field. In a table row it is in another field: `{ name: 'authorization', value: '…' }`. */
  function secretOf(source: Fields, key: Key): string | null {
    const isRow = key.name === 'value' && typeof source.name === 'string';
    const { name, isSecret, isAmbiguous } = isRow ? keyOf(source.name as string) : key;
    if (!isAmbiguous) return isSecret ? name : null;
    const value = source[key.name];
    if (typeof value !== 'string') return null;
    return names.isSecret(name, value) || (name === 'code' && isOAuth(source)) ? name : null;
  }

  /** A field whose key needs special treatment. */
  function walkField(source: Fields, key: Key, under: string | null, depth: number, pass: Pass): unknown {
    const { isCode } = pass;
    if (key.name === 'excerpt') pass.isCode = isExcerpt(pass.path, depth);
    const changed = walk(source[key.name], under ?? secretOf(source, key), depth + 1, pass);
    pass.isCode = isCode;
    return changed;
  }

  function walkFields(source: Fields, under: string | null, depth: number, pass: Pass): Fields {
    let copy: Fields | null = null;
    // Object.keys would create a list for each object. To ask of each key whether it is the object's own takes a fifth of masking.
    for (const name in source) {
      if (pass.isPolluted && !isOwn.call(source, name)) continue;
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

  /** `under`: the secret name above the value, or null. */
  function walk(value: unknown, under: string | null, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') {
      return under === null ? text(value, depth, pass) : secret(under, value, depth, pass);
    }
    if (typeof value !== 'object' || value === null) {
      if (under !== null) return secret(under, value, depth, pass);
      if (!isCardNumber(value)) return value;
      pass.depth = depth;
      note(pass, 'shape');
      return MASK;
    }
    if (depth > DEEPEST) return under === null ? '[not followed]' : secret(under, value, depth, pass);
    return Array.isArray(value)
      ? walkList(value as unknown[], under, depth, pass)
      : walkFields(value as Fields, under, depth, pass);
  }

  return { walk };
}

/**
 * Replaces texts that contain a secret value of this request by their masked form. Keys are not masked, because otherwise a client
 * could remove any field from its profile by sending the name of the field as a password.
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
