/**
 * The expression in a front end's source that failed -> the field of a response's body that it read. It follows names through the lines
 * before, up to where a response was read: `await …`, `.then((data) => …)`, `JSON.parse(xhr.responseText)`, loops, and the arguments of
 * the calling function. Whatever can't be followed is no field of a response.
 */
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import type { BrowserFact, BrowserFrame } from '../../profiler/read/browser-report.ts';
import { holdsMark } from '../../profiler/masking/redact-marks.ts';
import { isRecord } from '../../profiler/json.ts';
import { excerpt } from './wording.ts';

export interface ReadField {
  field: string;
  instead: string;
}

/** `*`: an element of a list. */
type Path = readonly string[];

interface Failed {
  expression: string;
  was: 'undefined' | 'null' | { wanted: string };
}

const CHAIN = String.raw`[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\??\.?\[[\w$]+\])*`;
const LIST_METHODS = 'map|forEach|filter|find|findIndex|some|every|reduce|flatMap|join|slice|sort|push';
const WANTED: readonly (readonly [methods: RegExp, type: string])[] = [
  [new RegExp(`^(?:${LIST_METHODS})$`), 'list'],
  [/^(?:toFixed|toPrecision)$/, 'number'],
  [/^(?:toUpperCase|toLowerCase|trim|split|startsWith|endsWith|replace|padStart|charAt)$/, 'text'],
];

/** The one chain on the line that this property is read of; null if there are several. */
function ownerOf(line: string, property: string): string | null {
  const found = line.matchAll(new RegExp(`(${CHAIN})\\??\\.${escapeRegExp(property)}(?![\\w$])`, 'g'));
  const chains = new Set(Array.from(found, ([, chain]) => chain ?? ''));
  return chains.size === 1 ? ([...chains][0] ?? null) : null;
}

/** By the words of Chromium, Firefox and Safari. */
function failedOf(message: string, line: string): Failed | null {
  const [, was, property] =
    /^Cannot read properties of (undefined|null) \(reading '(.+)'\)$/.exec(message) ?? [];
  if (was !== undefined) {
    const expression = /^[\w$]+$/.test(property ?? '') ? ownerOf(line, property ?? '') : null;
    return expression === null ? null : { expression, was: was as 'undefined' | 'null' };
  }
  const [, isOf, isWas] =
    /^(?:can't access property .+, )?(\S+) is (undefined|null)$/.exec(message) ??
    /^Cannot destructure property '.+' of '(.+)' as it is (undefined|null)\.$/.exec(message) ??
    [];
  if (isOf !== undefined) return { expression: isOf, was: isWas as 'undefined' | 'null' };
  const [, list] = /^(.+) is not iterable/.exec(message) ?? [];
  if (list !== undefined) return { expression: list, was: { wanted: 'list' } };
  const [, owner, method = ''] =
    /^(?:undefined is not a function \(near ')?(.+)\.([\w$]+)(?:' is not a function| is not a function)/.exec(
      message,
    ) ?? [];
  const wanted = WANTED.find(([methods]) => methods.test(method))?.[1];
  return owner === undefined || wanted === undefined ? null : { expression: owner, was: { wanted } };
}

/** `data.items[0].name` -> data, items, *, name; null if it is anything else. */
function partsOf(expression: string): string[] | null {
  if (!new RegExp(`^${CHAIN}$`).test(expression)) return null;
  return expression.split(/\??\.(?!\[)|\??\.?(?=\[)/).map((part) => (part.startsWith('[') ? '*' : part));
}

const NOT_OF_RESPONSE = /\bimport\(|localStorage|sessionStorage|document\.|caches?\.|indexedDB|cookie/;

function lastMatch(text: string, pattern: string): RegExpMatchArray | undefined {
  return [...text.matchAll(new RegExp(pattern, 'g'))].at(-1);
}

/** Where in a response's body a name comes from; null if it does not come from one. */
function originOf(name: string, frames: readonly BrowserFrame[], depth = 0): Path | null {
  const [frame, ...callers] = frames;
  const text = frame?.code?.lines.join('\n') ?? '';
  if (depth > 4 || text === '') return null;
  const own = escapeRegExp(name);
  const within = (chain: string | undefined, rest: Path): Path | null => {
    const [root = '', ...path] = partsOf(chain ?? '') ?? [];
    const origin = root === '' || root === name ? null : originOf(root, frames, depth + 1);
    return origin === null ? null : [...origin, ...path, ...rest];
  };
  const assigned = lastMatch(
    text,
    `(?<![\\w$.])(?:${own}|(\\{[^{}]*(?<![\\w$:.])${own}(?![\\w$:])[^{}]*\\}))\\s*=(?![=>])\\s*([^;\\n]+)`,
  );
  if (assigned !== undefined) {
    const [, destructured, value = ''] = assigned;
    const rest = destructured === undefined ? [] : [name];
    if (NOT_OF_RESPONSE.test(value)) return null;
    if (/^await\s|^JSON\.parse\(|\.response\b|\.responseText\b/.test(value)) return rest;
    return within(new RegExp(`^(${CHAIN})\\s*,?$`).exec(value)?.[1], rest);
  }
  const looped =
    lastMatch(text, `\\b(?:const|let|var)\\s+${own}\\s+of\\s+(${CHAIN})`) ??
    lastMatch(
      text,
      `(${CHAIN})\\??\\.(?:${LIST_METHODS})\\(\\s*(?:async\\s*)?(?:function\\s*)?\\(?\\s*${own}(?![\\w$])`,
    );
  if (looped !== undefined) return within(looped[1], ['*']);
  const then = lastMatch(
    text,
    `\\.then\\(\\s*(?:async\\s*)?(?:function\\s*[\\w$]*\\s*)?\\(?\\s*(?:${own}|(\\{[^{}]*(?<![\\w$:])${own}(?![\\w$:])[^{}]*\\}))\\s*\\)?\\s*(?:=>|\\{)`,
  );
  if (then !== undefined) return then[1] === undefined ? [] : [name];
  return originOfParameter(name, frame, callers, depth);
}

/** The name is a parameter of the frame's function: followed to the argument in the line that called it. */
function originOfParameter(
  name: string,
  frame: BrowserFrame | undefined,
  callers: readonly BrowserFrame[],
  depth: number,
): Path | null {
  const called = frame?.name.split('.').at(-1) ?? '';
  if (!/^[\w$]+$/.test(called)) return null;
  const text = frame?.code?.lines.join('\n') ?? '';
  const declared = lastMatch(
    text,
    `(?:function\\s+${escapeRegExp(called)}\\s*|${escapeRegExp(called)}\\s*=\\s*(?:async\\s*)?)\\(([^()]*)\\)`,
  );
  const index = (declared?.[1] ?? '').split(',').findIndex((part) => part.trim() === name);
  const line = callers[0]?.code?.lines.at(-1) ?? '';
  const [, given = ''] = new RegExp(`${escapeRegExp(called)}\\(([^()]*)\\)`).exec(line) ?? [];
  const [root = '', ...path] = (index === -1 ? null : partsOf(given.split(',')[index]?.trim() ?? '')) ?? [];
  const origin = root === '' ? null : originOf(root, callers, depth + 1);
  return origin === null ? null : [...origin, ...path];
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' ? 'object' : typeof value === 'string' ? 'text' : typeof value;
}

function valuesAt(body: unknown, path: Path): { value: unknown; of: unknown }[] {
  let found: { value: unknown; of: unknown }[] = [{ value: body, of: undefined }];
  for (const part of path)
    found = found.flatMap(({ value }): typeof found => {
      if (part === '*')
        return Array.isArray(value)
          ? value.length === 0
            ? [{ value: undefined, of: value }]
            : value.map((one: unknown) => ({ value: one, of: value }))
          : [];
      return isRecord(value)
        ? [{ value: Object.hasOwn(value, part) ? value[part] : undefined, of: value }]
        : [];
    });
  return found;
}

function insteadOf(value: unknown, of: unknown, isBody: boolean): string {
  if (value !== undefined)
    return `where it is ${typeOf(value) === 'null' ? 'null' : `${typeOf(value) === 'object' ? 'an' : 'a'} ${typeOf(value)}`}`;
  if (Array.isArray(of)) return 'where the list is empty';
  const names = isRecord(of) ? Object.keys(of) : [];
  const listed = names.slice(0, 5).map((name) => `“${excerpt(name, 30)}”`);
  const more = names.length > listed.length ? ` and ${names.length - listed.length} more` : '';
  return `${isBody ? 'whose body' : 'where the object'} has ${names.length === 0 ? 'no fields' : `only ${listed.join(', ')}${more}`}`;
}

/** null unless the body explains the failure. */
export function readField({ message, frames }: BrowserFact, body: unknown): ReadField | null {
  const [frame] = frames;
  const line = frame?.code?.lines.at(-1) ?? '';
  const failed = failedOf(message ?? '', line);
  const [root = '', ...rest] = failed === null ? [] : (partsOf(failed.expression) ?? []);
  const origin = root === '' ? null : originOf(root, frames);
  if (failed === null || origin === null) return null;
  const whole = [...origin, ...rest];
  // axios has the body in `data`.
  const path = whole[0] === 'data' && isRecord(body) && !Object.hasOwn(body, 'data') ? whole.slice(1) : whole;
  const explains = ({ value }: { value: unknown }): boolean =>
    typeof failed.was === 'string'
      ? String(value) === failed.was && (value === null || value === undefined)
      : typeOf(value) !== failed.was.wanted && !(typeof value === 'string' && holdsMark(value));
  const found = valuesAt(body, path).find(explains);
  if (found === undefined) return null;
  const field = path.length === 0 ? 'the body' : `“${excerpt(path.join('.').replaceAll('.*', '[]'), 80)}”`;
  return { field, instead: insteadOf(found.value, found.of, path.length === 1) };
}
