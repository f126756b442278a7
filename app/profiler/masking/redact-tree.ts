/** Masks the texts in a tree of plain JSON. Recursion has a depth limit. */
import type { Marks } from './redact-marks.ts';
import { isRecord } from '../json.ts';
import { isListedValue } from './redact-phrases.ts';
import { LINE_NAME, type TextMasking } from './redact-rules.ts';
import { isCardNumber } from './redact-shapes.ts';

export interface MaskedValue {
  where: string;
  rule: 'name' | 'known value' | 'shape' | 'given as secret';
}

export interface Pass {
  marks: Marks;
  masking: TextMasking;
  path: (string | number)[];
  isCode: boolean;
  /** Secret values found in texts and fields, also decoded: each with the value as it was found. */
  learned: Map<string, string>;
  texts: string[];
  masked: MaskedValue[];
}

export interface TreeRules {
  isClean: (text: string) => boolean;
  read: (text: string, pass: Pass) => string;
  maskText: (text: string, pass: Pass) => string;
  maskKey: (key: string, pass: Pass) => string;
}

const DEEPEST = 40;
const LISTED_PLACES = 200;
const LONGEST_NAME = 100;

/** Texts that are no secret under any name: `access-control-allow-credentials: true`. */
const NO_SECRET = new Set<unknown>(['', 'true', 'false', 'null', 'undefined']);

const LISTED_NAME = /^-{0,2}[A-Za-z][\w.-]*$/;

type Fields = Record<string, unknown>;

/** Names that are secret beside others: `code` of OAuth (RFC 6749, section 4.1), the hash of a user's password. */
const BESIDE_SECRET: ReadonlyMap<string, readonly string[]> = new Map([
  ['code', ['grant_type', 'client_id', 'redirect_uri', 'code_verifier', 'state']],
  ['hash', ['salt', 'iterations', 'login', 'username', 'email']],
]);

/** Of a password, under any name, if a salt stands beside it. */
const DIGEST = /^(?:[0-9a-f]{32,}|[\w+/-]{40,}={0,2})$/i;
const SHORTEST_DIGEST = 32;

function isSaltedDigest(source: Fields, value: unknown): boolean {
  if (typeof value !== 'string' || value.length < SHORTEST_DIGEST || !DIGEST.test(value)) return false;
  return Object.keys(source).some((name) => /salt/i.test(name));
}

function printPath(path: Pass['path']): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

export function note({ masked, path }: Pass, rule: MaskedValue['rule']): void {
  if (masked.length < LISTED_PLACES) masked.push({ where: printPath(path), rule });
}

function isExcerpt(path: Pass['path']): boolean {
  const at = path.length - 1;
  if (path[at] !== 'excerpt') return false;
  if (at === 0) return true;
  if (path[0] !== 'panels') return false;
  if (path[1] === 'database') return at === 5 && path[3] === 'excerpts';
  return path[1] === 'exception' && path[at - 2] === 'frames';
}

export function isStatement({ path }: Pass): boolean {
  return path.at(-1) === 'sql';
}

/** What becomes of the parts of a tree; `under`: the secret name above them, or null. */
interface Visit {
  path: Pass['path'];
  item: (list: readonly unknown[], index: number, under: string | null) => unknown;
  field: (fields: Fields, key: string, under: string | null) => unknown;
  key: (key: string) => string;
}

/** The same list, if nothing in it was replaced. */
function mapItems(list: readonly unknown[], under: string | null, visit: Visit): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let index = 0; index < list.length; index++) {
    visit.path.push(index);
    const result = visit.item(list, index, under);
    visit.path.pop();
    if (result === list[index]) continue;
    copy ??= [...list];
    copy[index] = result;
  }
  return copy ?? list;
}

/** The same object, if nothing in it was replaced. */
function mapFields(fields: Fields, under: string | null, visit: Visit): Fields {
  let copy: [string, unknown][] | null = null;
  const keys = Object.keys(fields);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? '';
    const shown = visit.key(key);
    visit.path.push(shown);
    const result = visit.field(fields, key, under);
    visit.path.pop();
    if (copy === null && (result !== fields[key] || shown !== key))
      copy = keys.slice(0, index).map((before) => [before, fields[before]]);
    copy?.push([shown, result]);
  }
  return copy === null ? fields : Object.fromEntries(copy);
}

/** Of headers and forms, of settings (AWS, Postman), and of errors of express-validator, Joi, Mongoose, Sequelize and class-validator. */
const NAMING = [
  'name',
  'key',
  'path',
  'param',
  'property',
  'field',
  'Name',
  'Key',
  'id',
  'label',
  'instancePath',
];
const GIVEN = new Set([
  'value', 'Value', 'val', 'oldValue', 'newValue', 'old_value', 'new_value', 'received', 'input',
]); // prettier-ignore
/** Fields of errors, beside which `path` and `instancePath` are JSON Pointers (RFC 6901): Ajv, TypeBox. */
const OF_ERRORS = ['op', 'message', 'schemaPath'];

/** A secret name that another field of a table row gives. The path of a route is no name. */
function secretNameIn(source: Fields, isSecret: (name: string) => boolean): string | null {
  for (const field of NAMING) {
    const given = source[field];
    const name: unknown = Array.isArray(given) ? given.at(-1) : given;
    // An address is no name, but for the JSON Pointer of a JSON Patch (RFC 6902).
    if (
      typeof name !== 'string' ||
      (name.includes('/') && !OF_ERRORS.some((field) => Object.hasOwn(source, field)))
    )
      continue;
    if (isSecret(name)) return name;
  }
  return typeof source.type === 'string' && /^password$/i.test(source.type) ? source.type : null;
}

/** Variables of GraphQL that a secret argument takes, with its name: `p` of `login(password: $p)`. */
function secretVariables({ query, document = query }: Fields, isSecret: (name: string) => boolean) {
  const arguments_ =
    typeof document === 'string' ? [...document.matchAll(/\b(\w{1,60})\s{0,5}:\s{0,5}\$(\w{1,60})/g)] : [];
  return new Map(
    arguments_.flatMap(([, name = '', variable = '']) => (isSecret(name) ? [[variable, name]] : [])),
  );
}

export function createTreeWalk({ isClean, read, maskText, maskKey }: TreeRules) {
  function text(value: string, under: string | null, pass: Pass): string {
    if (under === null && !pass.isCode && isClean(value)) {
      pass.texts.push(value);
      return value;
    }
    const given = read(value, pass);
    const shown = under === null ? given : pass.masking.hide(under, given);
    if (shown !== given) note(pass, 'name');
    const result = maskText(shown, pass);
    pass.texts.push(result);
    return result;
  }

  function isSecretName(name: string, pass: Pass): boolean {
    return name.length <= LONGEST_NAME && LISTED_NAME.test(name) && pass.masking.isSecretName(name);
  }

  /** The secret name that an item of a list follows: `['authorization', 'Bearer …']`, `['--password', '…']`. */
  function nameBefore(list: readonly unknown[], index: number, pass: Pass): string | null {
    const [name, value] = [list[index - 1], list[index]];
    if (typeof name !== 'string' || !isSecretName(name, pass)) return null;
    if (typeof value !== 'string') return Array.isArray(value) && LINE_NAME.test(name) ? name : null;
    return name.startsWith('-') || isListedValue(value) ? name : null;
  }

  /** The secret name of a field. In a table row it is in another field: `{ name: 'authorization', value: '…' }`. */
  function secretOf(source: Fields, name: string, pass: Pass): string | null {
    if (pass.masking.isSecret(name, source[name])) return name;
    if (GIVEN.has(name) || (name === 'data' && Object.hasOwn(source, 'instancePath')))
      return secretNameIn(source, (beside) => pass.masking.isSecret(beside, source[name]));
    const beside = BESIDE_SECRET.get(name);
    const isSecret = beside?.some((field) => Object.hasOwn(source, field)) === true;
    if (isSaltedDigest(source, source[name])) return name;
    return isSecret && typeof source[name] === 'string' ? name : null;
  }

  /** Everything below a secret name is masked, including numbers and nested fields, but not booleans. */
  function walkPlain(value: unknown, under: string | null, pass: Pass): unknown {
    if (typeof value === 'string')
      return text(value, under === null || NO_SECRET.has(value) ? null : under, pass);
    if (typeof value !== 'number' || (under === null && !isCardNumber(value))) return value;
    note(pass, under === null ? 'shape' : 'name');
    return pass.marks.mark(String(value), 'number');
  }

  return (tree: unknown, pass: Pass): unknown => {
    const visit: Visit = {
      path: pass.path,
      item: (list, index, under) => walk(list[index], under ?? nameBefore(list, index, pass)),
      field(fields, key, under) {
        const name = under ?? secretOf(fields, key, pass);
        if (key === 'variables' && name === null) return walkVariables(fields);
        return key === 'excerpt' ? walkExcerpt(fields[key], name) : walk(fields[key], name);
      },
      key: (key) => maskKey(key, pass),
    };

    function walk(value: unknown, under: string | null): unknown {
      if (typeof value !== 'object' || value === null) return walkPlain(value, under, pass);
      if (pass.path.length > DEEPEST) return '[not followed]';
      return Array.isArray(value) ? mapItems(value, under, visit) : mapFields(value as Fields, under, visit);
    }

    function walkVariables(fields: Fields): unknown {
      const { variables } = fields;
      const names = secretVariables(fields, (name) => isSecretName(name, pass));
      if (names.size === 0 || !isRecord(variables)) return walk(variables, null);
      const field: Visit['field'] = (inner, key) => visit.field(inner, key, names.get(key) ?? null);
      return mapFields(variables, null, { ...visit, field });
    }

    /** Its lines as one text: a key or a list of keys may have several. */
    function walkCode(value: unknown, under: string | null): unknown {
      if (!isRecord(value) || !Array.isArray(value.lines)) return walk(value, under);
      const lines = text(value.lines.join('\n'), under, pass).split('\n');
      return lines.length === value.lines.length ? { ...value, lines } : walk(value, under);
    }

    function walkExcerpt(value: unknown, under: string | null): unknown {
      const { isCode } = pass;
      pass.isCode ||= isExcerpt(pass.path);
      const result = pass.isCode ? walkCode(value, under) : walk(value, under);
      pass.isCode = isCode;
      return result;
    }

    return walk(tree, null);
  };
}

/** Keys stay: otherwise a client could remove any field from its profile by sending the name of the field as a password. */
export function mapTexts(tree: unknown, { path }: Pass, replace: (text: string) => string): unknown {
  const visit: Visit = {
    path,
    item: (list, index) => walk(list[index]),
    field: (fields, key) => walk(fields[key]),
    key: (key) => key,
  };

  function walk(value: unknown): unknown {
    if (typeof value === 'string') return replace(value);
    if (typeof value !== 'object' || value === null || path.length > DEEPEST) return value;
    return Array.isArray(value) ? mapItems(value, null, visit) : mapFields(value as Fields, null, visit);
  }

  return walk(tree);
}
