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
  SHORTEST_KNOWN_VALUE,
} from './redact-rules.ts';
import { createTreeMasker, type Path, printPath } from './redact-tree.ts';

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

interface Pass {
  path: Path;
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

  function note({ masked: places, path }: Pass, rule: MaskedValue['rule']): void {
    printNote(places, path, rule);
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

  function maskText(text: string, pass: Pass): string {
    let result =
      text.length > LONGEST_STRING
        ? `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`
        : text;
    if (known !== null) {
      const before = result;
      result = result.replace(known, MASK);
      if (result !== before) note(pass, 'known value');
    }
    if (MAYBE_SHAPE.test(result)) {
      const before = result;
      for (const { test, replace } of SHAPES) result = result.replace(test, replace);
      if (result !== before) note(pass, 'shape');
    }
    if (result.includes('=') || result.includes(':') || result.includes('</')) {
      const before = result;
      // In an excerpt of source only a literal can be a secret: `token: string` is none.
      const isCode = pass.path.includes('excerpt');
      result = maskLoosePairs(isCode ? result : maskPairs(maskFields(result, pass), pass), isCode);
      if (result !== before) note(pass, 'name');
    }
    return result;
  }

  function printNote(masked: MaskedValue[], path: Path, rule: MaskedValue['rule']): void {
    if (masked.length < LISTED_PLACES) masked.push({ where: printPath(path), rule });
  }

  /** Where the walk that is under way notes what it masks. */
  let masked: MaskedValue[] = [];
  const masker = createTreeMasker({
    isSecretName,
    maskText: (text, at) => maskText(text, { ...at, masked }),
    maskKey: (key) => (known === null || key.length < SHORTEST_KNOWN_VALUE ? key : key.replace(known, MASK)),
    note: (path, rule) => {
      printNote(masked, path, rule);
    },
  });

  return {
    text(value) {
      return maskText(value, { path: [], learned: new Set(), masked: [] });
    },
    tree<T>(value: T) {
      masked = [];
      const learned = new Set<string>();
      let result = masker.walk(value, [], learned);
      const pattern = patternOf([...learned]);
      if (pattern !== null) result = masker.forget(result, [], pattern);
      return { value: result as T, masked };
    },
  };
}
