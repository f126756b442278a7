/**
 * Masking, before anything leaves the memory of its request.
 *
 * Four rules apply to everything in a profile: by name (`password`, `authorization`, `cookie` …, also inside query strings, forms
 * and JSON in texts), by known value (the secrets of the configuration, in any usual encoding), by shape (JWT, `user:password@`,
 * private keys, well-known key prefixes), and by what the request revealed: a value masked by name is masked in its queries, logs and
 * messages, too. The names are fixed when the redactor is created, never taken from input.
 */
import { dropOldest } from '../drop-oldest.ts';
import { truncateText } from '../record/plain.ts';
import { decodeAll, maskEverywhere, SHORTEST_FIND } from './redact-encoded.ts';
import { createMarks, type Mark } from './redact-marks.ts';
import { createNameRule } from './redact-names.ts';
import { learn, maskByName } from './redact-rules.ts';
import { maskShapes } from './redact-shapes.ts';
import { maskPairs } from './redact-text.ts';
import { createTreeWalk, isStatement, mapTexts, type MaskedValue, note, type Pass } from './redact-tree.ts';
import { createEndMask, createValueMask, type Spellings, spellingsOfAll } from './redact-values.ts';

export { isMasked, MASK_PATTERN, MASKED, maskedType, withoutNumbers } from './redact-marks.ts';
export type { MaskedValue } from './redact-tree.ts';

export interface MaskedTree<T> {
  value: T;
  masked: MaskedValue[];
  /** Masks a tree that came later with what was learned from this one; equal values get the same mark. */
  maskLate<Late>(late: Late): Late;
}

export interface Redactor {
  /** Masks a single text: a log line, a URL, a message. Its marks have no numbers. */
  text(value: string): string;
  tree<T>(value: T): MaskedTree<T>;
}

export interface RedactorOptions {
  secrets?: Readonly<Record<string, string>> | undefined;
  names?: readonly string[] | undefined;
  /** Values that are never masked, even if a secret has the same value: names of host, schema, user, database. */
  publicValues?: readonly string[] | undefined;
}

const LONGEST_STRING = 65_536;
const WORD = /^[A-Za-z_]+$/;
const SQL_TEXT = /'(?:[^']|'')*(?:'|$)/g;
/** Texts and keys that have nothing to mask: most repeat from request to request, policies and bodies among them. */
const MOST_CLEAN = { short: 5000, long: 100 };
const LONGEST_SHORT = 200;
const LONGEST_CLEAN = 8192;

function createMemory() {
  const [short, long] = [new Set<string>(), new Set<string>()];
  const setOf = (text: string): Set<string> => (text.length > LONGEST_SHORT ? long : short);
  return {
    has: (text: string): boolean => setOf(text).has(text),
    add(text: string): void {
      if (text.length > LONGEST_CLEAN) return;
      setOf(text).add(text);
      dropOldest(short, MOST_CLEAN.short);
      dropOldest(long, MOST_CLEAN.long);
    },
  };
}

function presentIn(texts: readonly string[], spellings: Spellings): Spellings {
  const whole = texts.join('\n');
  const decoded = decodeAll(whole);
  const all = [whole, decoded, decodeAll(decoded)].join('\n');
  return new Map([...spellings].filter(([spelling]) => all.includes(spelling)));
}

/** So that the lines of code have their numbers. */
function keepingLines(mark: Mark): Mark {
  return (value, type) => mark(value, type) + '\n'.repeat(value.split('\n').length - 1);
}

export function createRedactor({
  secrets = {},
  names = [],
  publicValues = [],
}: RedactorOptions = {}): Redactor {
  const secretValues = Object.values(secrets).filter((value) => !publicValues.includes(value));
  const nameRule = createNameRule(names);
  const spellings = spellingsOfAll(secretValues.map((value) => [value, value]));
  const maskWhole = createValueMask(spellings);
  const maskEnd = createEndMask(spellings);

  const clean = createMemory();
  const cleanKeys = createMemory();

  function createPass({ areNumbered }: { areNumbered: boolean }): Pass {
    const marks = createMarks({ areNumbered });
    const learned = new Map<string, string>();
    const hide = (name: string, value: string): string =>
      maskByName(name, value, (part) => {
        learn(part, learned);
        return marks.mark(part);
      });
    const masking = { ...nameRule, mark: marks.mark, hide };
    return { marks, masking, learned, path: [], isCode: false, texts: [], masked: [] };
  }

  function applyRules(text: string, pass: Pass): string {
    const { isCode } = pass;
    const mark = isCode ? keepingLines(pass.masking.mark) : pass.masking.mark;
    const masking = { ...pass.masking, mark };
    const known = maskEnd(maskWhole(text, mark), mark);
    if (known !== text) note(pass, 'known value');
    const shaped = maskShapes(known, mark, (value) => masking.hide('token', value));
    if (shaped !== known) note(pass, 'shape');
    const named = maskPairs(shaped, masking, isCode);
    if (named !== shaped) note(pass, 'name');
    return named;
  }

  function maskText(text: string, pass: Pass): string {
    if (text.length < SHORTEST_FIND) return text;
    if (pass.isCode) return applyRules(text, pass);
    const learned = pass.learned.size;
    const masked = maskEverywhere(text, (plain) => applyRules(plain, pass));
    if (masked === text && pass.learned.size === learned) clean.add(text);
    return masked;
  }

  const walk = createTreeWalk({
    isClean: (text) => text.length < SHORTEST_FIND || clean.has(text),
    maskText,
    read: (text, { marks }) => marks.read(truncateText(text, LONGEST_STRING)),
    maskKey(key, pass) {
      if (cleanKeys.has(key)) return key;
      // A key may be a text: an address in a cache, or the JSON that was sent as a form.
      const masked = maskEverywhere(key, (plain) => applyRules(plain, { ...pass, masked: [] }));
      if (masked !== key) return pass.marks.print(masked);
      cleanKeys.add(key);
      return key;
    },
  });

  function maskTree<T>(value: T, pass: Pass): T {
    pass.texts = [];
    const { mark, print } = pass.marks;
    const walked = walk(value, pass);
    // Nothing was masked, so no text has a mark to print, or a learned value to look for.
    if (pass.learned.size === 0 && !pass.marks.areUsed()) return walked as T;
    const maskOf = (learned: Iterable<readonly [string, string]>): ((text: string) => string) => {
      const given = spellingsOfAll(learned);
      if (given.size === 0) return (text) => text;
      const maskGiven = createValueMask(presentIn(pass.texts, given));
      const maskGivenEnd = createEndMask(given);
      return (text) => maskEverywhere(text, (plain) => maskGivenEnd(maskGiven(plain, mark), mark));
    };
    const mask = maskOf(pass.learned);
    // Outside of quotes, a word in a statement is the name of something, whatever a parameter said (`?sortToken=created_at`).
    const others = [...pass.learned].filter(([learned]) => !WORD.test(learned));
    const maskNames = others.length === pass.learned.size ? mask : maskOf(others);
    const maskStatement = (sql: string): string => maskNames(sql).replace(SQL_TEXT, mask);
    return mapTexts(walked, pass, (text) => {
      const masked = isStatement(pass) ? maskStatement(text) : mask(text);
      if (masked !== text) note(pass, 'given as secret');
      return print(masked);
    }) as T;
  }

  return {
    text(value) {
      const pass = createPass({ areNumbered: false });
      return pass.marks.print(maskText(pass.marks.read(truncateText(value, LONGEST_STRING)), pass));
    },
    tree(value) {
      const pass = createPass({ areNumbered: true });
      const masked = maskTree(value, pass);
      return { value: masked, masked: [...pass.masked], maskLate: (late) => maskTree(late, pass) };
    },
  };
}
