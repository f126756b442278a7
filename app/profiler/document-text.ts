/**
 * Document -> JSON text, character by character what `JSON.stringify` writes, in half of its time: keys come in the same order in each
 * profile, and most texts were quoted before (quoted-texts.ts). What is no plain data (a panel of the host's may keep a Date) is
 * left to `JSON.stringify`; where that has no form for it, because its `toJSON` gives undefined, it is null in an object too.
 */
import { createMemory } from './redact-memory.ts';
import { createQuotedTexts } from './quoted-texts.ts';

/** A key as it is written. */
interface Key {
  name: string;
  /** With the quotes and the colon. */
  first: string;
  /** With the comma before. */
  later: string;
  /** What followed last time. */
  next: Key | null;
}

type Fields = Record<string, unknown>;

const MOST_KEYS = 2500;
const LONGEST_KEY = 100;
const { hasOwnProperty: isOwn } = Object.prototype;

function createKey(name: string): Key {
  const first = `${JSON.stringify(name)}:`;
  return { name, first, later: `,${first}`, next: null };
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What JSON has no form for: left out of an object, null in a list. */
function hasNoForm(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

function writtenByJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export function createDocumentWriter(): (document: object) => string {
  const { quote } = createQuotedTexts();
  const keys = createMemory<Key>(MOST_KEYS);
  let latest = createKey('');

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

  // Each returns what it has written: one text that all add to would be written to memory at each step.
  function listText(list: readonly unknown[]): string {
    let text = '[';
    for (let index = 0; index < list.length; index++) {
      if (index > 0) text += ',';
      text += textOf(list[index]);
    }
    return `${text}]`;
  }

  function fieldsText(fields: Fields): string {
    let text = '{';
    let isFirst = true;
    for (const name in fields) {
      if (!isOwn.call(fields, name)) continue;
      const value = fields[name];
      if (hasNoForm(value)) {
        if (name === 'toJSON' && typeof value === 'function') return writtenByJson(fields);
        continue;
      }
      const key = nextKey(name);
      text += isFirst ? key.first : key.later;
      isFirst = false;
      text += textOf(value);
    }
    return `${text}}`;
  }

  function objectText(value: object): string {
    if (Array.isArray(value)) return listText(value as unknown[]);
    return isPlain(value) ? fieldsText(value as Fields) : writtenByJson(value);
  }

  function textOf(value: unknown): string {
    if (typeof value === 'string') return quote(value);
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
    if (typeof value === 'object' && value !== null) return objectText(value);
    return typeof value === 'boolean' || value === null ? String(value) : writtenByJson(value);
  }

  return textOf;
}
