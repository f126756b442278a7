/**
 * Document -> JSON text, character by character what `JSON.stringify` writes, in half of its time: keys come in the same order in each
 * profile, and most texts were quoted before (quoted-texts.ts). What is no plain data (a panel of the host's may keep a Date) is
 * left to `JSON.stringify`.
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
  let text = '';

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

  function writeList(list: readonly unknown[]): void {
    text += '[';
    for (let index = 0; index < list.length; index++) {
      if (index > 0) text += ',';
      write(list[index]);
    }
    text += ']';
  }

  function writeFields(fields: Fields): void {
    const before = text;
    let isFirst = true;
    text += '{';
    for (const name in fields) {
      if (!isOwn.call(fields, name)) continue;
      const value = fields[name];
      if (hasNoForm(value)) {
        if (name !== 'toJSON' || typeof value !== 'function') continue;
        text = before + writtenByJson(fields);
        return;
      }
      const key = nextKey(name);
      text += isFirst ? key.first : key.later;
      isFirst = false;
      write(value);
    }
    text += '}';
  }

  function writeObject(value: object): void {
    if (Array.isArray(value)) writeList(value as unknown[]);
    else if (isPlain(value)) writeFields(value as Fields);
    else text += writtenByJson(value);
  }

  function write(value: unknown): void {
    if (typeof value === 'string') text += quote(value);
    else if (typeof value === 'number') text += Number.isFinite(value) ? String(value) : 'null';
    else if (typeof value === 'object' && value !== null) writeObject(value);
    else if (typeof value === 'boolean') text += value ? 'true' : 'false';
    else text += writtenByJson(value);
  }

  return (document) => {
    text = '';
    write(document);
    const written = text;
    text = '';
    return written;
  };
}
