/**
 * Masking, before anything leaves the memory of its request.
 *
 * Four rules, applied to everything that a profile holds: by name (`password`, `authorization`, `cookie` …, also inside
 * query strings, forms and JSON kept as text), by known value (the secrets of the configuration, wherever and however
 * encoded they occur), by shape (JWT, `user:password@`, private keys, well-known key prefixes), and by what this request
 * itself gave as a secret: a value masked by name is masked in its queries, logs and messages too.
 * The list of names is fixed when the redactor is made, never taken from input.
 */
import {
  createNameRule,
  decodeName,
  learn,
  MASK,
  maskByName,
  MAYBE_SHAPE,
  NO_VALUE,
  PAIR_IN_ESCAPED_JSON,
  PAIR_IN_JSON,
  PAIR_IN_MULTIPART,
  PAIR_IN_QUERY,
  PAIR_IN_TEXT,
  PAIR_IN_XML,
  patternOf,
  SHAPES,
} from './redact-rules.ts';

export { MASK } from './redact-rules.ts';

/** A place where something was masked, and by which rule. */
export interface MaskedValue {
  /** Path in the profile, such as `panels.request.data.headers[2]`. */
  where: string;
  rule: 'name' | 'known value' | 'shape' | 'given as secret';
}

export interface Redactor {
  /** Masks a text that stands alone: a log line, a URL, a message. */
  text(value: string): string;
  /** Masks a tree of plain JSON in place of its strings; returns the new tree and where something was masked. */
  tree<T>(value: T): { value: T; masked: MaskedValue[] };
}

export interface RedactorOptions {
  /** Secret values by the name of their setting. */
  secrets?: Readonly<Record<string, string>>;
  /** Words that make a name secret, in addition to the built-in ones. */
  names?: readonly string[];
  /** Values that are public although they are set as a secret: names of host, schema, user, database. */
  publicValues?: readonly string[];
}

/** Longest string that a profile holds; the rest is counted in words. */
const LONGEST_STRING = 65_536;
/** Masked places listed per profile. */
const LISTED_PLACES = 200;
const DEEPEST = 40;

interface Pass {
  learned: Set<string>;
  masked: MaskedValue[];
}

export function createRedactor({
  secrets = {},
  names = [],
  publicValues = [],
}: RedactorOptions = {}): Redactor {
  const isSecretName = createNameRule(names);
  const known = patternOf(Object.values(secrets).filter((value) => !publicValues.includes(value)));

  function note(pass: Pass, where: string, rule: MaskedValue['rule']): void {
    if (pass.masked.length < LISTED_PLACES) pass.masked.push({ where, rule });
  }

  /** Masks `name=value`, `"name": "value"` and `name: value` inside a text. */
  function maskPairs(text: string, pass: Pass): string {
    let result = text;
    if (result.includes('=')) {
      result = result.replace(PAIR_IN_QUERY, (all, gap: string, name: string, value: string) => {
        const plainName = decodeName(name);
        if (value === '' || NO_VALUE.test(value) || !isSecretName(plainName)) return all;
        learn(plainName, decodeName(value), pass.learned);
        return `${gap}${name}=${MASK}`;
      });
    }
    if (result.includes('":') || result.includes('" :')) {
      result = result.replace(PAIR_IN_JSON, (all, head: string, value: string) => {
        const name = head.slice(1, head.lastIndexOf('"'));
        if (!isSecretName(name) || value.includes(MASK)) return all;
        if (value.startsWith('"')) {
          try {
            learn(name, JSON.parse(value.endsWith('"') ? value : `${value}"`) as string, pass.learned);
          } catch {
            learn(name, value.slice(1, -1), pass.learned);
          }
        }
        return `${head}"${MASK}"`;
      });
    }
    if (result.includes('\\"')) {
      result = result.replace(PAIR_IN_ESCAPED_JSON, (all, head: string) =>
        isSecretName(head) ? `${head}\\"${MASK}\\"` : all,
      );
    }
    return result;
  }

  /** Masks the values of markup and multipart fields. */
  function maskFields(text: string, pass: Pass): string {
    const mask = (all: string, head: string, name: string, value: string): string => {
      if (!isSecretName(name) || value === MASK) return all;
      learn(name, value, pass.learned);
      return `${head}${MASK}`;
    };
    let result = text;
    if (result.includes('</')) result = result.replace(PAIR_IN_XML, mask);
    if (result.includes('name="')) result = result.replace(PAIR_IN_MULTIPART, mask);
    return result;
  }

  function maskLoosePairs(text: string, isCode: boolean): string {
    return text.replace(PAIR_IN_TEXT, (all, name: string, gap: string, value: string) => {
      if (!isSecretName(name) || value.includes(MASK) || NO_VALUE.test(value)) return all;
      return isCode && !/^["'`]/.test(value) ? all : `${name}${gap}${MASK}`;
    });
  }

  function maskText(text: string, where: string, pass: Pass): string {
    let result =
      text.length > LONGEST_STRING
        ? `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`
        : text;
    if (known !== null) {
      const before = result;
      result = result.replace(known, MASK);
      if (result !== before) note(pass, where, 'known value');
    }
    if (MAYBE_SHAPE.test(result)) {
      const before = result;
      for (const { test, replace } of SHAPES) result = result.replace(test, replace);
      if (result !== before) note(pass, where, 'shape');
    }
    if (result.includes('=') || result.includes(':') || result.includes('</')) {
      const before = result;
      // In an excerpt of source only a literal can be a secret: `token: string` is none.
      const isCode = where.includes('.excerpt.');
      result = maskLoosePairs(isCode ? result : maskPairs(maskFields(result, pass), pass), isCode);
      if (result !== before) note(pass, where, 'name');
    }
    return result;
  }

  /** Everything below a secret name is masked, numbers and nested fields too; what is only a yes or no stays. */
  function maskNamed(
    name: string,
    value: unknown,
    at: { where: string; depth: number },
    pass: Pass,
  ): unknown {
    const { where, depth } = at;
    if (value === null || value === undefined || value === '' || typeof value === 'boolean') return value;
    if (typeof value === 'object' && depth <= DEEPEST) {
      const below = (item: unknown, place: string): unknown =>
        maskNamed(name, item, { where: place, depth: depth + 1 }, pass);
      if (Array.isArray(value)) return value.map((item, index) => below(item, `${where}[${index}]`));
      return rebuild(value, (key, item) => below(item, `${where}.${key}`));
    }
    note(pass, where, 'name');
    if (typeof value !== 'string') return MASK;
    learn(name, value, pass.learned);
    return maskText(maskByName(name, value), where, pass);
  }

  /** A new object with the same keys; `__proto__` is a key like any other, and a known value in a key is masked. */
  function rebuild(source: object, change: (key: string, item: unknown) => unknown): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(source)) {
      Object.defineProperty(result, known === null ? key : key.replace(known, MASK), {
        value: change(key, item),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return result;
  }

  /** Rebuilds the tree with `leaf` applied to each string; recursion is bounded by the depth cap. */
  function walk(value: unknown, where: string, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') return maskText(value, where, pass);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return '[not followed]';
    if (Array.isArray(value))
      return value.map((item, index) => walk(item, `${where}[${index}]`, depth + 1, pass));
    const source = value as Record<string, unknown>;
    // { name: 'authorization', value: '…' }: a row of a table carries its name beside its value.
    const rowName = typeof source.name === 'string' && 'value' in source ? source.name : null;
    return rebuild(source, (key, item) => {
      const place = where === '' ? key : `${where}.${key}`;
      const name = rowName !== null && key === 'value' ? rowName : key;
      return isSecretName(name)
        ? maskNamed(name, item, { where: place, depth: depth + 1 }, pass)
        : walk(item, place, depth + 1, pass);
    });
  }

  /** Masks what this request gave as a secret, wherever else it turns up. */
  function forget(value: unknown, pattern: RegExp, where: string, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') {
      const result = value.replace(pattern, MASK);
      if (result !== value) note(pass, where, 'given as secret');
      return result;
    }
    if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
    if (Array.isArray(value))
      return value.map((item, index) => forget(item, pattern, `${where}[${index}]`, depth + 1, pass));
    const source = value as Record<string, unknown>;
    for (const key of Object.keys(source)) {
      const place = where === '' ? key : `${where}.${key}`;
      const item = forget(source[key], pattern, place, depth + 1, pass);
      if (item !== source[key]) source[key] = item;
    }
    return source;
  }

  return {
    text(value) {
      return maskText(value, '', { learned: new Set(), masked: [] });
    },
    tree<T>(value: T) {
      const pass: Pass = { learned: new Set(), masked: [] };
      let result = walk(value, '', 0, pass);
      const pattern = patternOf([...pass.learned]);
      if (pattern !== null) result = forget(result, pattern, '', 0, pass);
      return { value: result as T, masked: pass.masked };
    },
  };
}
