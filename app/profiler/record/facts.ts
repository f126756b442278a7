/**
 * The facts of one request: the interface `Facts` maps the name of each kind to the type of one entry.
 *
 * The core defines request, response, body, route, error and toolbar. Observers and users add theirs by declaration merging:
 * `declare module './facts.ts' { interface Facts { query: QueryFact } }` (in a host:
 * `declare module 'express-hindsight'`). Facts are plain values, not masked yet, in memory until the panels have read them.
 * Times (`…AtMs`) are milliseconds since the request started.
 */
import type { ParsedBody } from './parsed-body.ts';
import type { Json } from '../json.ts';

export interface RequestOrigin {
  scheme: 'http' | 'https';
  /** Host name as sent, without port; null if it is missing or malformed. */
  host: string | null;
  port: number;
  origin: string | null;
  clientAddress: string;
  chain: readonly string[];
  trusted: boolean;
  hostError: string | null;
}

export interface RequestFact {
  method: string;
  /** The request target as sent, with its query. */
  url: string;
  httpVersion: string;
  /** Name, value, name, value … as received, in order and case. */
  rawHeaders: readonly string[];
  remoteAddress: string;
  remotePort: number;
  origin: RequestOrigin;
  requestId: string;
  /** The x-request-id as received, if it was replaced. */
  receivedRequestId: string | null;
  /**
   * The request object while it runs, then only what the host's middleware set on it: `session`, `user` and `app`. A context can
   * outlive its request, for example in the callbacks of a pooled connection, and must not keep its sockets in memory.
   */
  live?: object | undefined;
  session?: Json | undefined;
}

/** The request body; one fact, updated as the body arrives. */
export interface BodyFact {
  bytes: number;
  contentType: string | null;
  /** The first bytes as received, up to the preview limit. */
  preview: Buffer;
  truncated: boolean;
  /** The parsed body: an object of fields, or any JSON value; undefined if no parser ran. */
  parsed?: unknown;
  /** The same as it is recorded; set when the request ends. */
  plain?: ParsedBody;
  files: readonly UploadedFile[];
  /** Nothing had been read of it when the response headers were sent. */
  unread?: boolean;
  /** Bytes of a signed JSON body that was parsed, if it is written again and is another text; set when the request ends. */
  writtenAgain?: number | undefined;
}

export interface UploadedFile {
  field: string;
  name: string;
  contentType: string;
  bytes: number;
}

/** One change of a response's headers by the application. */
export interface HeaderWrite {
  name: string;
  /** As given: a text, a number, or several texts; undefined if the header was removed. */
  value: unknown;
  /** The fact `layer` whose code or hook ran; null before the first, and if layers are not known. */
  layer: object | null;
  /** Made by a hook that the layer had registered for when the headers are sent (`on-headers`). */
  hooked: boolean;
  /** `file:line` of own code that called, for headers that decide about caches, cookies and access. */
  from?: string | null;
}

export interface RefusedWrite {
  /** `setHeader` and the like. */
  method: string;
  name: string | null;
  layer: object | null;
  atMs: number;
  /** `file:line` of own code that called, for the first one; null if unknown. */
  from?: string | null;
}

export interface ResponseFact {
  status: number;
  statusMessage: string;
  rawHeaders: readonly string[];
  headersAtMs: number | null;
  /** When `end()` was called, if the headers had been sent before; null otherwise. */
  endedAtMs?: number | null;
  sentFrom?: string | null;
  nextFrom?: string | null | undefined;
  bodyBytes: number;
  /** How often it was written to, without what a compressor writes by itself: its header, and full buffers. */
  pieces?: number;
  preview: Buffer;
  /** The body is the profiler's error page, which shows what is recorded anyway: its bytes are counted, and no preview is stored. */
  isErrorPage?: boolean;
  truncated: boolean;
  /** In the order of the calls; absent if they are not observed. */
  headerWrites?: readonly HeaderWrite[];
  refused?: readonly RefusedWrite[];
  /** The response was passed to the system (`finish`): what runs now is not part of it. */
  isSent?: boolean;
  /** This process closed the connection before the response finished: `destroy()`, a timeout of the socket, the server's end. */
  isClosedHere?: boolean;
  /** `aborted`: the connection closed before the response finished. */
  outcome: 'running' | 'finished' | 'aborted';
}

export interface RouteFact {
  pattern: string;
  method: string;
  params: Readonly<Record<string, unknown>>;
  handler: string | null;
  source: string | null;
}

/** Something thrown, as it is: panels turn it into plain data. */
export interface ErrorFact {
  error: unknown;
  atMs: number;
  origin:
    | 'handled'
    | 'work'
    | 'graphql'
    | 'stream'
    | 'parser'
    | 'uncaughtException'
    | 'unhandledRejection'
    | 'late'
    | 'passed on'
    | 'logged';
  status: number | null;
  /** Where it came from. */
  layer?: ErrorLayer | null;
  /** The error handler that it reached last; null: Express's own. */
  handler?: ErrorLayer | null;
  /** That handler called `next()` without the error, and had not responded. */
  dropped?: true;
  misdeclared?: { name: string; source: string | null; parameters: number };
}

export interface ErrorLayer {
  name: string;
  kind: string;
  pattern: string;
  method: string | null;
  source: string | null;
}

/** About the toolbar in an HTML document that a browser requested; at most one. */
export interface ToolbarFact {
  /** Why it got no toolbar, in a word; `policy:` and a directive if that blocks the script; null if it got one. */
  absent: string | null;
  /** The inserted tag; empty if none was inserted. */
  tag: string;
}

/** What a profile is about that no request started; at most one. */
export interface WorkFact {
  /** Shown where a request has its method: `JOB`. */
  label: string;
  /** Shown where a request has its URL. */
  name: string;
}

export interface Facts {
  request: RequestFact;
  work: WorkFact;
  /** What the request was about, where its route doesn't say: the GraphQL operation. Shown behind the route. */
  routeLabel: string;
  body: BodyFact;
  response: ResponseFact;
  route: RouteFact;
  error: ErrorFact;
  toolbar: ToolbarFact;
}

export type FactName = keyof Facts;
