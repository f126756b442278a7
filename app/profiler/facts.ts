/**
 * What can be recorded about one request: the interface `Facts` maps the name of each kind to the type of one entry.
 *
 * The core knows request, response, body, route and error. Observers and users widen it by declaration merging:
 * `declare module '../profiler/facts.ts' { interface Facts { query: QueryFact } }` (in a host:
 * `declare module 'express-hindsight'`). Facts are plain values held in memory until the panels have read them;
 * nothing here is masked yet. Times (`…AtMs`) are milliseconds since the request began.
 */

/** The origin as the client sees it, worked out from the socket and, from a trusted peer only, from x-forwarded-*. */
export interface RequestOrigin {
  scheme: 'http' | 'https';
  /** Host name as sent, without port; null where none was sent or it is malformed. */
  host: string | null;
  /** 1 to 65535. */
  port: number;
  /** `scheme://host[:port]`, default ports not printed; null where the host is invalid. */
  origin: string | null;
  clientAddress: string;
  /** Addresses from the client to the peer, nearest last. */
  chain: readonly string[];
  /** Whether the peer is a trusted proxy, so that its eight headers counted. */
  trusted: boolean;
  /** Why the host is refused (a sentence of the catalogue), else null. */
  hostError: string | null;
}

export interface RequestFact {
  method: string;
  /** The request target as sent, with its query. */
  url: string;
  httpVersion: string;
  /** Name, value, name, value … as received: order and case kept. */
  rawHeaders: readonly string[];
  remoteAddress: string;
  remotePort: number;
  origin: RequestOrigin;
  requestId: string;
  /** The x-request-id as received, when it was not kept. */
  receivedRequestId: string | null;
  /**
   * The request object while it runs, then what the host's middleware left on it: `session`, `user` and `app`. A context may
   * outlive its request by far, as what holds a connection does, and must not hold its sockets.
   */
  live?: object | undefined;
}

/** What came in as the body; one fact, completed as the body arrives. */
export interface BodyFact {
  /** Bytes received so far, of any content type. */
  bytes: number;
  contentType: string | null;
  /** The first bytes as received, at most the recorder's preview limit. */
  preview: Buffer;
  truncated: boolean;
  /** What a parser made of it: an object of fields, or any JSON value; undefined where no parser ran. */
  parsed?: unknown;
  files: readonly UploadedFile[];
  /** Nobody had read of it when the headers of the answer went out. */
  unread?: boolean;
}

export interface UploadedFile {
  field: string;
  name: string;
  contentType: string;
  bytes: number;
}

/** One change of a response's headers, as the application asked for it. */
export interface HeaderWrite {
  name: string;
  /** As given: text, a number, or several texts; undefined where the header was removed. */
  value: unknown;
  /** The fact `layer` whose code ran, or whose hook; null before the first, and where layers are not known. */
  layer: object | null;
  /** Asked for while the headers went out, by what the layer had made wait for that (`on-headers`). */
  hooked: boolean;
}

/** Something that was to change an answer whose headers, or whose end, were out already. */
export interface RefusedWrite {
  /** `setHeader` and the like. */
  method: string;
  /** Of a header; null for a body. */
  name: string | null;
  layer: object | null;
  atMs: number;
}

/** One per request, completed when the answer ends. */
export interface ResponseFact {
  status: number;
  statusMessage: string;
  /** Name, value … as sent, in order and case; empty until they are out. */
  rawHeaders: readonly string[];
  /** When the headers went out; null before. */
  headersAtMs: number | null;
  bodyBytes: number;
  preview: Buffer;
  /** The preview as text where every byte of it is ASCII, else null: it spares the bytes where they were text before. */
  previewAscii?: string | null;
  truncated: boolean;
  /** In the order they were asked for; absent where they are not observed. */
  headerWrites?: readonly HeaderWrite[];
  refused?: readonly RefusedWrite[];
  /** All of it was handed over (`finish`): what runs now is about the answer, no part of it. */
  isSent?: boolean;
  /** `aborted`: the client left, or the socket was destroyed, before the end. */
  outcome: 'running' | 'finished' | 'aborted';
}

/** The route that answered: the full pattern with its mounts, such as `/orders/:id`. */
export interface RouteFact {
  pattern: string;
  method: string;
  params: Readonly<Record<string, unknown>>;
  /** The handler's name, where it has one. */
  handler: string | null;
  /** `file:line` where known. */
  source: string | null;
}

/** Something thrown, kept live: panels turn it into plain data. */
export interface ErrorFact {
  error: unknown;
  atMs: number;
  /** `handled`: it reached the error page; the others are seen by the process's monitor or the HTTP parser. */
  origin: 'handled' | 'parser' | 'uncaughtException' | 'unhandledRejection' | 'late';
  /** The status it was answered with; null where it was not answered. */
  status: number | null;
}

/** Of an HTML document that a browser asked for; at most one. */
export interface ToolbarFact {
  /** Why it got no toolbar, in a word; `policy:` and a directive where a policy would have stopped its script; null where it got one. */
  absent: string | null;
  /** What was put into its body; empty where nothing was. */
  tag: string;
}

export interface Facts {
  request: RequestFact;
  body: BodyFact;
  response: ResponseFact;
  route: RouteFact;
  error: ErrorFact;
  toolbar: ToolbarFact;
}

export type FactName = keyof Facts;
