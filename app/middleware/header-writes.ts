/**
 * Which layer sets which header: the methods that change headers are replaced by functions that record name, value and layer as given. A layer
 * that waits for the headers (`on-headers`: session, compression) replaces `writeHead`: we wrap its function when the layer is left, so
 * that what it sets is attributed to it. (An accessor would cost 20 µs.)
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../profiler/context.ts';
import type { HeaderWrite, RefusedWrite } from '../profiler/facts.ts';

/** The original methods. */
export type HeaderMethods = Pick<ServerResponse, 'setHeader' | 'appendHeader' | 'removeHeader'>;

/** Changes recorded per response; Node accepts at most 2,000 headers. */
const MOST_WRITES = 500;
const MOST_REFUSED = 10;

/** What is recorded of one response. */
export class HeaderNotes {
  readonly context: Context;
  readonly writes: HeaderWrite[] = [];
  refused: RefusedWrite[] | undefined;
  /** The layer whose hook runs while the headers are sent; undefined while none does. */
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

/** `notesOf`: null if the headers of this response are not recorded. */
export function observeHeaders(
  methods: HeaderMethods,
  notesOf: (res: ServerResponse) => HeaderNotes | null,
): HeaderMethods {
  function note({ writes, context, hook, handed }: HeaderNotes, name: string, value: unknown): void {
    if (writes.length >= MOST_WRITES) return;
    if (hook === undefined || handed?.has(name.toLowerCase()) === true)
      writes.push({ name, value, layer: context.layer, hooked: false });
    else writes.push({ name, value, layer: hook, hooked: true });
  }

  function observed(method: 'appendHeader' | 'removeHeader'): unknown {
    return function observedHeader(this: ServerResponse, ...args: unknown[]): unknown {
      const notes = notesOf(this);
      const given = args[0];
      if (notes === null || typeof given !== 'string')
        return Reflect.apply(methods[method] as () => unknown, this, args);
      // Removing an absent header changes nothing.
      const isIdle = method === 'removeHeader' && !this.hasHeader(given);
      let result: unknown;
      try {
        result = Reflect.apply(methods[method] as () => unknown, this, args);
      } catch (error) {
        if (this.headersSent) notes.noteRefused(method, given);
        throw error;
      }
      if (!isIdle) note(notes, given, method === 'removeHeader' ? undefined : this.getHeader(given));
      return result;
    };
  }

  /** The most frequent one by far; an argument list for each call would double its cost. */
  function observedSet(
    this: ServerResponse,
    name: string,
    value: number | string | string[],
  ): ServerResponse {
    const notes = typeof name === 'string' ? notesOf(this) : null;
    if (notes === null) return methods.setHeader.call(this, name, value);
    let result: ServerResponse;
    try {
      result = methods.setHeader.call(this, name, value);
    } catch (error) {
      if (this.headersSent) notes.noteRefused('setHeader', name);
      throw error;
    }
    note(notes, name, value);
    return result;
  }

  return {
    setHeader: observedSet,
    appendHeader: observed('appendHeader') as HeaderMethods['appendHeader'],
    removeHeader: observed('removeHeader') as HeaderMethods['removeHeader'],
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
