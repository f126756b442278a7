/**
 * Which layer sets which header: the methods that change headers are replaced by functions that record name, value and layer as given. A layer
 * that waits for the headers (`on-headers`: session, compression) replaces `writeHead`. We wrap its function when the layer is left, so
 * that the headers it sets are attributed to it.
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../profiler/record/context.ts';
import type { HeaderWrite, RefusedWrite } from '../profiler/record/facts.ts';
import type { Method, ResponseObserver } from './response-methods.ts';

const MOST_WRITES = 500;
const MOST_REFUSED = 10;
/** Decide about caches, cookies and access, and are set by a line of the application, if by any. */
const DECIDING =
  /^(?:cache-control|set-cookie|content-disposition|access-control-allow-(?:origin|credentials))$/i;

export class HeaderNotes {
  readonly context: Context;
  readonly writes: HeaderWrite[] = [];
  refused: RefusedWrite[] | undefined;
  hook: object | null | undefined = undefined;
  /** The response's `writeHead` when a layer was last left. */
  head: unknown;
  /** Lower-case names passed to writeHead itself: the hooks set them for the layer that called it. */
  handed: Set<string> | null = null;

  readonly #findSender: (() => string | null) | undefined;

  constructor(context: Context, head: unknown, findSender?: () => string | null) {
    this.context = context;
    this.head = head;
    this.#findSender = findSender;
  }

  note(name: string, value: unknown): void {
    const { writes, context, hook, handed } = this;
    if (writes.length >= MOST_WRITES) return;
    // A hook runs below whatever sends the response: its layer says more than that line.
    if (hook !== undefined && handed?.has(name.toLowerCase()) !== true) {
      writes.push({ name, value, layer: hook, hooked: true });
      return;
    }
    const from = DECIDING.test(name) ? this.#findSender?.() : undefined;
    writes.push({
      name,
      value,
      layer: context.layer,
      hooked: false,
      ...(from === undefined ? {} : { from }),
    });
  }

  noteRefused(method: string, name: string | null): void {
    const refused = (this.refused ??= []);
    if (refused.length >= MOST_REFUSED) return;
    const { layer } = this.context;
    const from = refused.length === 0 ? this.#findSender?.() : undefined;
    refused.push({
      method,
      name,
      layer,
      atMs: this.context.elapsedMs(),
      ...(from === undefined ? {} : { from }),
    });
  }
}

type HeaderMethod = 'setHeader' | 'appendHeader' | 'removeHeader';

function observeHeader(
  notes: HeaderNotes,
  method: HeaderMethod,
  res: ServerResponse,
  original: Method,
  args: unknown[],
): unknown {
  const [name, value] = args;
  if (typeof name !== 'string') return Reflect.apply(original, res, args);
  // Removing an absent header changes nothing.
  const isIdle = method === 'removeHeader' && !res.hasHeader(name);
  let isRefused = true;
  let result: unknown;
  // Not `catch`: Node.js would print our line, not the one that threw, if nobody catches it.
  try {
    result = Reflect.apply(original, res, args);
    isRefused = false;
  } finally {
    if (isRefused && res.headersSent) notes.noteRefused(method, name);
  }
  if (!isIdle) notes.note(name, method === 'setHeader' ? value : res.getHeader(name));
  return result;
}

export function headerMethods(notes: HeaderNotes): Pick<ResponseObserver, HeaderMethod> {
  const of =
    (method: HeaderMethod) =>
    (res: ServerResponse, original: Method, args: unknown[]): unknown =>
      observeHeader(notes, method, res, original, args);
  return {
    setHeader: of('setHeader'),
    appendHeader: of('appendHeader'),
    removeHeader: of('removeHeader'),
  };
}

function namesIn(headers: unknown): Set<string> | null {
  if (typeof headers !== 'object' || headers === null) return null;
  const names: unknown[] = Array.isArray(headers)
    ? headers.flat().filter((_name, i) => i % 2 === 0)
    : Object.keys(headers);
  return new Set(names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase()));
}

/** The layer that is left has replaced `writeHead`: what its function sets is attributed to the layer. */
export function noticeHook(res: ServerResponse, notes: HeaderNotes, layer: object): void {
  const given: unknown = res.writeHead;
  if (given === notes.head || typeof given !== 'function') return;
  notes.head = given;
  // An inherited one belongs to the application that has the response now.
  if (!Object.hasOwn(res, 'writeHead')) return;
  try {
    res.writeHead = wrapHook(given, notes, layer) as ServerResponse['writeHead'];
    notes.head = res.writeHead;
  } catch {
    // Frozen: what its hook sets is attributed to the layer that sends the headers.
  }
}

function wrapHook(given: object, notes: HeaderNotes, layer: object): unknown {
  return function hookedWriteHead(this: unknown, ...args: unknown[]): unknown {
    const { hook, handed } = notes;
    notes.hook = layer;
    // The outermost is called by the layer that sends the headers: the names passed to it are that layer's.
    if (hook === undefined) notes.handed = namesIn(args[1]) ?? namesIn(args[2]);
    try {
      return Reflect.apply(given as () => unknown, this, args);
    } finally {
      notes.hook = hook;
      notes.handed = handed;
    }
  };
}
