/**
 * Masking, before anything leaves the memory of its request.
 *
 * Four rules, applied to everything that a profile holds: by name (`password`, `authorization`, `cookie` …, also inside
 * query strings, forms and JSON kept as text), by known value (the secrets of the configuration, wherever and however
 * encoded they occur), by shape (JWT, `user:password@`, private keys, well-known key prefixes), and by what this request
 * itself gave as a secret: a value masked by name is masked in its queries, logs and messages too.
 * The list of names is fixed when the redactor is made, never taken from input.
 */
import { createNameRule, learn } from './redact-rules.ts';
import { maskPairs, maskShapes } from './redact-text.ts';
import { createTreeMasker, type Path, printPath } from './redact-tree.ts';
import { createValueMask, SHORTEST_KNOWN_VALUE, type ValueMask } from './redact-values.ts';

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

/** Lines of source, which the exception panel holds; a field that a client names so is none. */
function isExcerpt(path: Path): boolean {
  const at = path.lastIndexOf('excerpt');
  return path[1] === 'exception' && path[at - 2] === 'frames';
}

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
  const known = createValueMask(
    Object.values(secrets).filter((value) => !publicValues.includes(value)),
    { escapes: true },
  );

  function note({ masked: places, path }: Pass, rule: MaskedValue['rule']): void {
    printNote(places, path, rule);
  }

  function maskText(text: string, pass: Pass): string {
    let result =
      text.length > LONGEST_STRING
        ? `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`
        : text;
    const apply = (rule: MaskedValue['rule'], mask: ValueMask): void => {
      const before = result;
      result = mask(result);
      if (result !== before) note(pass, rule);
    };
    if (known !== null) apply('known value', known);
    apply('shape', maskShapes);
    if (/[=:<]/.test(result)) {
      const masking = {
        isSecretName,
        learn: (name: string, value: string): void => {
          learn(name, value, pass.learned);
        },
      };
      apply('name', (whole) => maskPairs(whole, masking, isExcerpt(pass.path)));
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
    maskKey: (key) => (known === null || key.length < SHORTEST_KNOWN_VALUE ? key : known(key)),
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
      const mask = createValueMask([...learned]);
      if (mask !== null) result = masker.forget(result, [], mask);
      return { value: result as T, masked };
    },
  };
}
