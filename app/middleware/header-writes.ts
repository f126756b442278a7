/**
 * Who sets which header of an answer: the methods that change headers, replaced for all responses of an Express application
 * (shared-methods.ts) by functions that pass everything on and note what was asked for, and by which layer.
 *
 * Runs a dozen times per request, so nothing is worked out here: names and values are kept as they were given, and the
 * request panel compares them when its profile is built. Who waits for the headers to go out (`on-headers`: session,
 * compression) does so by a `writeHead` of its own: it is looked for when its layer goes on or is over, and wrapped, so that what it
 * sets is its layer's, not that of the layer which ends the answer. (An accessor would see it at once, and cost 20 µs.)
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../profiler/context.ts';
import type { HeaderWrite, RefusedWrite } from '../profiler/facts.ts';

/** Those that change headers, as they were. */
export type HeaderMethods = Pick<ServerResponse, 'setHeader' | 'appendHeader' | 'removeHeader'>;

/** What is noted of one response. */
export class HeaderNotes {
  readonly context: Context;
  readonly writes: HeaderWrite[] = [];
  refused: RefusedWrite[] | undefined;
  /** The layer whose hook runs, while the headers go out; undefined while none does. */
  hook: object | null | undefined = undefined;
  /** The `writeHead` that the response had when a layer was last looked at. */
  head: unknown;
  /** Lower-case names that were handed to writeHead itself: hooks set them for the layer that called it. */
  handed: Set<string> | null = null;

  constructor(context: Context, head: unknown) {
    this.context = context;
    this.head = head;
  }
}

/** Changes kept of one answer; Node takes at most 2000 headers. */
const MOST_WRITES = 500;
const MOST_REFUSED = 10;

export function noteRefused(notes: HeaderNotes, method: string, name: string | null): void {
  const { context } = notes;
  const refused = (notes.refused ??= []);
  if (refused.length < MOST_REFUSED)
    refused.push({ method, name, layer: context.layer, atMs: context.elapsedMs() });
}

/** `notesOf`: null where the headers of this response are not recorded. */
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
      // Taking away what is not there changes nothing.
      const isIdle = method === 'removeHeader' && !this.hasHeader(given);
      let result: unknown;
      try {
        result = Reflect.apply(methods[method] as () => unknown, this, args);
      } catch (error) {
        if (this.headersSent) noteRefused(notes, method, given);
        throw error;
      }
      if (!isIdle) note(notes, given, method === 'removeHeader' ? undefined : this.getHeader(given));
      return result;
    };
  }

  /** By far the most of them; a list of arguments for each would cost as much again. */
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
      if (this.headersSent) noteRefused(notes, 'setHeader', name);
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

/** A layer goes on or is over: the `writeHead` that the response was given meanwhile is that layer's, and so is what it sets. */
export function noticeHook(res: ServerResponse, notes: HeaderNotes, layer: object): void {
  const given: unknown = res.writeHead;
  if (given === notes.head || typeof given !== 'function') return;
  notes.head = given;
  // An inherited one is that of the application which has the response now.
  if (!Object.hasOwn(res, 'writeHead')) return;
  try {
    res.writeHead = wrapHook(given, notes, layer) as ServerResponse['writeHead'];
    notes.head = res.writeHead;
  } catch {
    // It is frozen: what its hook sets counts as set by who answers.
  }
}

function wrapHook(given: object, notes: HeaderNotes, layer: object): unknown {
  return function hookedWriteHead(this: unknown, ...args: unknown[]): unknown {
    const { hook, handed } = notes;
    notes.hook = layer;
    // The outermost is called by whoever answers: what it is handed is theirs.
    if (hook === undefined) notes.handed = namesIn(args[1]) ?? namesIn(args[2]);
    try {
      return Reflect.apply(given as () => unknown, this, args);
    } finally {
      notes.hook = hook;
      notes.handed = handed;
    }
  };
}
