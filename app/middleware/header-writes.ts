/**
 * Who sets which header of an answer: the methods that change headers, replaced for all responses of an Express application
 * (shared-methods.ts) by functions that pass everything on and note what was asked for, and by which layer.
 *
 * Runs a dozen times per request, so nothing is worked out here: names and values are kept as they were given, and the
 * request panel compares them when its profile is built. What the headers' own writing asks for is told apart, because
 * it belongs to whoever waits for that (`on-headers`: session, compression), not to the layer that ends the answer.
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../profiler/context.ts';
import type { HeaderWrite, RefusedWrite } from '../profiler/facts.ts';

/** Those that change headers, as they were; the last is Node's own, called when headers go out that nobody wrote. */
export interface HeaderMethods {
  setHeader: ServerResponse['setHeader'];
  appendHeader: ServerResponse['appendHeader'];
  removeHeader: ServerResponse['removeHeader'];
  _implicitHeader: () => void;
}

/** What is noted of one response. */
export class HeaderNotes {
  readonly context: Context;
  readonly writes: HeaderWrite[] = [];
  readonly hooks: (object | null)[] = [];
  refused: RefusedWrite[] | undefined;
  /** The headers are being written. */
  isWriting = false;

  constructor(context: Context) {
    this.context = context;
  }
}

/** Changes kept of one answer; Node takes at most 2000 headers. */
const MOST_WRITES = 500;
const MOST_REFUSED = 10;

export interface HeaderWatchOptions {
  /** null where the headers of this response are not to be noted. */
  notesOf: (res: ServerResponse) => HeaderNotes | null;
  layerOf: (context: Context) => object | null;
}

export function noteRefused(
  notes: HeaderNotes,
  layerOf: HeaderWatchOptions['layerOf'],
  { method, name }: { method: string; name: string | null },
): void {
  const { context } = notes;
  const refused = (notes.refused ??= []);
  if (refused.length < MOST_REFUSED)
    refused.push({ method, name, layer: layerOf(context), atMs: context.elapsedMs() });
}

export function observeHeaders(methods: HeaderMethods, options: HeaderWatchOptions): HeaderMethods {
  const { notesOf, layerOf } = options;

  function note({ writes, context, isWriting }: HeaderNotes, name: string, value: unknown): void {
    if (writes.length < MOST_WRITES) writes.push({ name, value, layer: layerOf(context), hooked: isWriting });
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
        if (this.headersSent) noteRefused(notes, layerOf, { method, name: given });
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
      if (this.headersSent) noteRefused(notes, layerOf, { method: 'setHeader', name });
      throw error;
    }
    note(notes, name, value);
    return result;
  }

  return {
    setHeader: observedSet,
    appendHeader: observed('appendHeader') as HeaderMethods['appendHeader'],
    removeHeader: observed('removeHeader') as HeaderMethods['removeHeader'],
    _implicitHeader: function writingHeaders(this: ServerResponse): void {
      const notes = notesOf(this);
      if (notes === null) {
        Reflect.apply(methods._implicitHeader, this, []);
        return;
      }
      notes.isWriting = true;
      try {
        Reflect.apply(methods._implicitHeader, this, []);
      } finally {
        notes.isWriting = false;
      }
    },
  };
}
