/** Arguments and locals of one request where it throws, read with the debugger: what a profile stores, and what pages ask for. */
import type { IncomingMessage } from 'node:http';
import type { Context } from './context.ts';
import type { Json } from '../json.ts';

export interface Stop {
  error: unknown;
  atMs: number;
  calls: StoppedCall[];
  isShown: boolean;
}

export interface StoppedCall {
  name: string;
  url: string;
  line: number;
  column: number;
  begins: { line: number; column: number };
  values: Record<string, Json>;
  outer: string[];
}

export interface ValuesFact {
  asked: ValuesAsked;
  stops: Stop[];
  stoppedMs: () => number;
  /** Why reading ended before the request did, in a sentence. */
  ended: string | null;
}

/** An error that was thrown and is on no page: own code caught it. */
export interface Swallowed {
  class: string;
  message: string;
  atMs: number;
  times: number;
  thrown: string;
  /** `file:line` of the catch clause; null if it was not found. */
  caught: string | null;
  isEmptyCatch: boolean;
  /** Of the first own call, if they were asked for, or the request shows no error. */
  values?: Record<string, Json>;
}

/** As the exception panel stores it. The values themselves are in the frames. */
export interface ValuesRecord {
  /** Token of the request that it was asked for on. */
  of: string;
  stops: number;
  stoppedMs: number;
  ended: string | null;
  swallowed: Swallowed[];
  swallowedLeft: number;
}

export interface ValuesAsked {
  of: string;
  caught: boolean;
  /** Names on the lines that failed then: variables declared outside of their function are read only if they are among them. */
  names: ReadonlySet<string>;
}

export interface WaitedRoute {
  method: string;
  route: string;
}

export interface ValueReader {
  refusal(): string | null;
  /** Attaches the debugger for the request that has `header` as its `x-debug-profile`. Rejects with an error whose message says why it can't. */
  attach(asked: ValuesAsked): Promise<{ header: string; release: () => void }>;
  wait(asked: ValuesAsked & WaitedRoute): void;
  waitsUntil(route: WaitedRoute): number | null;
  /** Attaches before this request is served, if it is the one that is waited for; else null. `targetOf`: null for what is not the application's. */
  whenReady(req: IncomingMessage, targetOf: (req: IncomingMessage) => string | null): Promise<void> | null;
  begin(context: Context): void;
  finish(context: Context): void;
  close(): void;
}

declare module './facts.ts' {
  interface Facts {
    values: ValuesFact;
  }
}
