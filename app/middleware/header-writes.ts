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

type Name = keyof HeaderMethods;

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

  function observed(method: Exclude<Name, '_implicitHeader'>): unknown {
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
      const { writes, context, isWriting } = notes;
      if (writes.length < MOST_WRITES && !isIdle) {
        const value =
          method === 'removeHeader' ? undefined : method === 'setHeader' ? args[1] : this.getHeader(given);
        writes.push({ name: given, value, layer: layerOf(context), hooked: isWriting });
      }
      return result;
    };
  }

  return {
    setHeader: observed('setHeader') as HeaderMethods['setHeader'],
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
