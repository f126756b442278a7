/**
 * Objects of the web platform, whose values are not properties: URL, Headers, Request … -> a text, or entries. Read with the platform's own
 * functions, so that no method of the application runs.
 */
import { chainOf } from './safe-read.ts';

type Entries = [string, unknown][];

const MOST_ENTRIES = 100;

function read(prototype: object, name: string, value: object): unknown {
  const getter = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  return getter === undefined ? undefined : Reflect.apply(getter, value, []);
}

function entriesOf(iterator: Iterable<[string, unknown]>): Entries {
  const found = new Map<string, unknown>();
  for (const [name, item] of iterator) {
    if (found.size === MOST_ENTRIES) break;
    const before = found.get(name);
    found.set(name, found.has(name) ? [before, item].flat() : item);
  }
  return [...found];
}

function fieldsOf(names: readonly string[]) {
  return (value: object, prototype: object): Entries =>
    names.map((name) => [name, read(prototype, name, value)]);
}

function listed(value: object, prototype: object): Entries {
  const { entries } = prototype as { entries: (this: object) => Iterable<[string, unknown]> };
  return entriesOf(entries.call(value));
}

function blobText(value: object, prototype: object): string {
  const name = read(prototype, 'name', value);
  const size = read(Blob.prototype, 'size', value);
  return `[${typeof name === 'string' ? `File ${name}` : 'Blob'}, ${String(size)} bytes]`;
}

const READERS: Readonly<Record<string, (value: object, prototype: object) => string | Entries>> = {
  URL: (value, prototype) => String(read(prototype, 'href', value)),
  URLSearchParams: listed,
  Headers: listed,
  FormData: listed,
  Request: fieldsOf(['method', 'url', 'headers']),
  Response: fieldsOf(['status', 'url', 'headers']),
  Blob: blobText,
  File: blobText,
};

/** undefined for anything else. Never throws. */
export function readWebObject(value: object): string | Entries | undefined {
  try {
    for (const prototype of chainOf(value)) {
      const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
      // By name first: Node.js loads some of them with the first look.
      const name = typeof maker === 'function' ? maker.name : '';
      const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
      if (reader === undefined || Reflect.get(globalThis, name) !== maker) continue;
      return reader(value, prototype);
    }
  } catch {
    // It only has the prototype.
  }
  return undefined;
}
