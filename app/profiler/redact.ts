/**
 * Masking, before anything leaves the memory of its request.
 *
 * Four rules apply to everything in a profile: by name (`password`, `authorization`, `cookie` …, also inside query strings, forms
 * and JSON in texts), by known value (the secrets of the configuration, in any usual encoding), by shape (JWT, `user:password@`,
 * private keys, well-known key prefixes), and by what the request revealed: a value masked by name is masked in its queries, logs and
 * messages, too. The names are fixed when the redactor is created, never taken from input.
 */
import { maskEncodedTexts } from './redact-encoded.ts';
import { createLearnedMasks } from './redact-learned.ts';
import { createTextMemory } from './redact-memory.ts';
import { createNameRule, secretNames } from './redact-name-rule.ts';
import { learn } from './redact-rules.ts';
import { createScan, HOLDS } from './redact-scan.ts';
import { maskShapes, SHAPE_HEADS } from './redact-shapes.ts';
import { maskPairs, maskUnseenPairs, mayCutFieldName } from './redact-text.ts';
import { createPass, createTreeMasker, forget, type MaskedValue, note, type Pass } from './redact-tree.ts';
import { createValueMask, SHORTEST_KNOWN_VALUE, spellingsOfAll, type ValueMask } from './redact-values.ts';

export { MASK } from './redact-rules.ts';
export type { MaskedValue } from './redact-tree.ts';

export interface Redactor {
  /** Masks a single text: a log line, a URL, a message. */
  text(value: string): string;
  /** Masks the strings of a plain JSON tree; returns the new tree and where something was masked. */
  tree<T>(value: T): { value: T; masked: MaskedValue[] };
}

export interface RedactorOptions {
  /** Secret values by the name of their setting. */
  secrets?: Readonly<Record<string, string>> | undefined;
  /** Words that make a name secret, in addition to the built-in ones. */
  names?: readonly string[] | undefined;
  /** Values that are never masked, even if a secret has the same value: names of host, schema, user, database. */
  publicValues?: readonly string[] | undefined;
}

/** A name and its value, in any notation. */
const PAIR = /[=:<]|%3[ad]/i;
/** Longest string of a profile; the rest is replaced by a note of its length. */
const LONGEST_STRING = 65_536;

/** Encodings inside each other, such as JSON in a query in the query of an address. */
const MOST_ENCODINGS = 2;

/** The texts that a mask changes, each with its masked form. */
function changedBy(mask: ValueMask | null, texts: readonly string[]): Map<string, string> {
  const changed = new Map<string, string>();
  if (mask === null) return changed;
  for (const text of texts) {
    const masked = mask(text);
    if (masked !== text) changed.set(text, masked);
  }
  return changed;
}

export function createRedactor({
  secrets = {},
  names = [],
  publicValues = [],
}: RedactorOptions = {}): Redactor {
  const secretValues = Object.values(secrets).filter((value) => !publicValues.includes(value));
  const secretWords = secretNames(names);
  const nameRule = createNameRule(secretWords);
  const known = createValueMask(secretValues, { escapes: true });
  const scan = createScan(secretWords, [...SHAPE_HEADS, ...spellingsOfAll(secretValues)]);
  const learnedMasks = createLearnedMasks();

  /** By known value and by shape. */
  function maskValues(text: string, seen: number, pass: Pass): string {
    let result = text;
    if (known !== null && (seen & (HOLDS.head | HOLDS.escape)) !== 0) {
      result = (seen & HOLDS.head) === 0 ? known.maskEscaped(text) : known.mask(text);
      if (result !== text) note(pass, 'known value');
    }
    if ((seen & (HOLDS.head | HOLDS.at | HOLDS.escape | HOLDS.digits)) === 0) return result;
    const shaped = maskShapes(result, {
      head: (seen & HOLDS.head) !== 0,
      digits: (seen & HOLDS.digits) !== 0,
    });
    if (shaped !== result) note(pass, 'shape');
    return shaped;
  }

  function maskNames(text: string, isNamed: boolean, pass: Pass): string {
    const masking = {
      ...nameRule,
      learn: (name: string, value: string): void => {
        learn(name, value, pass.learned);
      },
    };
    if (isNamed) return maskPairs(text, masking, pass.isCode);
    return pass.isCode ? text : maskUnseenPairs(text, masking);
  }

  function maskText(text: string, pass: Pass, depth = 0): string {
    const whole =
      text.length > LONGEST_STRING
        ? `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`
        : text;
    const seen = scan(whole);
    if ((seen & ~(HOLDS.pair | HOLDS.tag)) === 0 && ((seen & HOLDS.tag) === 0 || !mayCutFieldName(whole)))
      return whole;
    if (pass.isCode || depth === MOST_ENCODINGS) return maskSeen(whole, seen, pass);
    // First, because a rule may mask a part of an encoded text, and leave a rest that tells nothing.
    const decoded = maskEncodedTexts(whole, {
      mask: (inner) => maskText(inner, pass, depth + 1),
      mayHold: (inner) => (scan(inner) & (HOLDS.name | HOLDS.head | HOLDS.digits | HOLDS.at)) !== 0,
    });
    return maskSeen(decoded, seen, pass);
  }

  function maskSeen(whole: string, seen: number, pass: Pass): string {
    const masked = maskValues(whole, seen, pass);
    // The masked text may have split a name in two for the scan.
    const isNamed = masked !== whole || (seen & HOLDS.name) !== 0;
    if (!isNamed && !PAIR.test(masked)) return masked;
    const result = maskNames(masked, isNamed, pass);
    if (result !== masked) note(pass, 'name');
    return result;
  }

  const masker = createTreeMasker({
    names: nameRule,
    maskText: (text, pass) => maskText(text, pass),
    maskKey: (key) => (known === null || key.length < SHORTEST_KNOWN_VALUE ? key : known.mask(key)),
    clean: createTextMemory(),
  });

  return {
    text: (value) => maskText(value, createPass()),
    tree<T>(value: T) {
      const pass = createPass();
      const result = masker.walk(value, null, 0, pass);
      const given = changedBy(learnedMasks.maskOf(pass.learned), pass.texts);
      if (given.size === 0) return { value: result as T, masked: pass.masked };
      return { value: forget(result, given, 0, pass) as T, masked: pass.masked };
    },
  };
}
