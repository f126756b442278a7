/**
 * Applies the masking of texts to a tree of plain JSON. The hottest part of recording: what is clean stays as it is
 * (copy on write), a path is written down only where something is masked, and short texts found clean are remembered,
 * since names, patterns and places repeat from request to request. Recursion is bounded by a depth cap.
 */
import { copyText, learn, MASK, maskByName } from './redact-rules.ts';

/** Where the walk is. */
export type Path = (string | number)[];

/** Masks one text; `learned` takes the secrets that it gives away, `path` tells where it stands. */
export type MaskText = (text: string, at: { path: Path; learned: Set<string> }) => string;

export interface TreeRules {
  isSecretName: (name: string) => boolean;
  maskText: MaskText;
  /** A key that holds a known value, masked. */
  maskKey: (key: string) => string;
  note: (path: Path, rule: 'name' | 'given as secret') => void;
}

const DEEPEST = 40;
/** Texts up to this length are remembered when they are clean. */
const REMEMBERED_LENGTH = 120;
const REMEMBERED_COUNT = 10_000;
/** No rule finds anything in less. */
const SHORTEST_FIND = 5;

type Fields = Record<string, unknown>;

/** A copy with one field changed; `__proto__` is a field like any other. */
function withField(copy: Fields, key: string, value: unknown): Fields {
  if (key !== '__proto__') copy[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

export function createTreeMasker({ isSecretName, maskText, maskKey, note }: TreeRules) {
  const clean = new Set<string>();

  function text(value: string, path: Path, learned: Set<string>): string {
    if (value.length < SHORTEST_FIND || (value.length <= REMEMBERED_LENGTH && clean.has(value))) return value;
    const known = learned.size;
    const result = maskText(value, { path, learned });
    if (
      result === value &&
      learned.size === known &&
      value.length <= REMEMBERED_LENGTH &&
      !path.includes('excerpt')
    ) {
      if (clean.size >= REMEMBERED_COUNT) clean.clear();
      clean.add(copyText(value));
    }
    return result;
  }

  /** Everything below a secret name is masked, numbers and nested fields too; what is only a yes or no stays. */
  function secret(name: string, value: unknown, path: Path, learned: Set<string>): unknown {
    if (value === null || value === undefined || value === '' || typeof value === 'boolean') return value;
    if (typeof value === 'object' && path.length <= DEEPEST) {
      return children(value, path, (_key, item) => secret(name, item, path, learned));
    }
    note(path, 'name');
    if (typeof value !== 'string') return MASK;
    learn(name, value, learned);
    return maskText(maskByName(name, value), { path, learned });
  }

  /** The same container where no child changed, else a copy. */
  function children(value: object, path: Path, change: (key: string, item: unknown) => unknown): unknown {
    if (Array.isArray(value)) return items(value as unknown[], path, change);
    const source = value as Fields;
    let copy: Fields | null = null;
    for (const key of Object.keys(source)) {
      const item = source[key];
      const safe = maskKey(key);
      path.push(safe);
      const changed = change(key, item);
      path.pop();
      if (changed === item && safe === key) continue;
      copy ??= { ...source };
      if (safe !== key) Reflect.deleteProperty(copy, key);
      withField(copy, safe, changed);
    }
    return copy ?? value;
  }

  function items(list: unknown[], path: Path, change: (key: string, item: unknown) => unknown): unknown {
    let copy: unknown[] | null = null;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      path.push(index);
      const changed = change('', item);
      path.pop();
      if (changed === item) continue;
      copy ??= [...list];
      copy[index] = changed;
    }
    return copy ?? list;
  }

  function walk(value: unknown, path: Path, learned: Set<string>): unknown {
    if (typeof value === 'string') return text(value, path, learned);
    if (typeof value !== 'object' || value === null) return value;
    if (path.length > DEEPEST) return '[not followed]';
    if (Array.isArray(value))
      return items(value as unknown[], path, (_key, item) => walk(item, path, learned));
    const { name: rowName } = value as { name?: unknown };
    // { name: 'authorization', value: '…' }: a row of a table carries its name beside its value.
    const named = typeof rowName === 'string' && 'value' in value ? rowName : null;
    return children(value, path, (key, item) => {
      const name = named !== null && key === 'value' ? named : key;
      return isSecretName(name) ? secret(name, item, path, learned) : walk(item, path, learned);
    });
  }

  /** Masks what this request gave as a secret, wherever else it turns up. */
  function forget(value: unknown, path: Path, mask: (text: string) => string): unknown {
    if (typeof value === 'string') {
      const result = mask(value);
      if (result !== value) note(path, 'given as secret');
      return result;
    }
    if (typeof value !== 'object' || value === null || path.length > DEEPEST) return value;
    return children(value, path, (_key, item) => forget(item, path, mask));
  }

  return { walk, forget };
}

/** `panels.request.data.headers[2]`. */
export function printPath(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}
