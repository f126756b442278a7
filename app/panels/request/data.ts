import type { RefusedWrite, ResponseFact } from '../../profiler/facts.ts';
import type { Json } from '../../profiler/json.ts';
import type { NamedValue } from '../../profiler/raw-headers.ts';
import type { HeaderAuthors, NamedAuthors } from '../shared/header-authors.ts';
import type { ReceivedBody } from './body.ts';
import type { SessionAndUser } from './session-and-user.ts';

export interface RequestPanelData {
  method: string;
  url: string;
  httpVersion: string;
  requestId: string;
  receivedRequestId: string | null;
  client: {
    address: string;
    peer: string;
    port: number;
    /** From the client to the peer, nearest last. */
    chain: string[];
    trusted: boolean;
    scheme: string;
    origin: string | null;
    hostError: string | null;
  };
  query: NamedValue[];
  routeParams: { name: string; value: Json }[];
  headers: NamedValue[];
  /** Received cookies: name and length of the value. */
  jar: { name: string; length: number }[];
  body: ReceivedBody | null;
  /** Session and user, if the host has them. */
  sessionAndUser: SessionAndUser | null;
  response: {
    status: number | null;
    statusMessage: string;
    headers: NamedValue[];
    /** Which layer set which header; null if unknown. */
    authors: NamedAuthors | null;
    headersAtMs: number | null;
    contentType: string | null;
    bytes: number;
    text: string | null;
    truncated: boolean;
    /** The body is the profiler's error page, which is not recorded. */
    isErrorPage: boolean;
    outcome: ResponseFact['outcome'] | 'cut off';
    /** Why it got no toolbar, in one word; null if it got one, or is not a page. */
    toolbarAbsent: string | null;
    /** Bytes of the toolbar's tag, which the text leaves out. */
    toolbarBytes: number;
    /** Changes that came too late. */
    refused: { method: string; name: string | null; by: string | null; atMs: number }[];
  } | null;
}

type Client = RequestPanelData['client'];
export type Response = NonNullable<RequestPanelData['response']>;

/** A change of the response that came too late, with the index of its layer among those that ran. */
export type KeptRefusal = Omit<RefusedWrite, 'layer'> & { layer: number };

/** What each profile stores; the rest is in its index row, shared, or empty. */
export interface KeptRequest {
  httpVersion: string;
  receivedRequestId: string | undefined;
  client: Pick<Client, 'peer' | 'port' | 'scheme'> & {
    chain: string[] | undefined;
    trusted: true | undefined;
    hostError: string | undefined;
  };
  query: NamedValue[] | undefined;
  routeParams: RequestPanelData['routeParams'] | undefined;
  headers: NamedValue[];
  jar: RequestPanelData['jar'] | undefined;
  body: ReceivedBody | undefined;
  sessionAndUser: SessionAndUser | undefined;
  response:
    | (Pick<Response, 'headersAtMs' | 'contentType' | 'bytes' | 'text'> & {
        truncated: true | undefined;
        isErrorPage: true | undefined;
        headers: NamedValue[];
        setBy: HeaderAuthors | undefined;
        refused: KeptRefusal[] | undefined;
        /** `file:line` of own code that sent a 5xx, if no error was recorded. */
        sentFrom: string | undefined;
        /** `file:line` of own code that called `next()` after the headers were sent; null: a library did. */
        nextFrom: string | null | undefined;
        /** When `end()` was called, if that was after the headers were sent. */
        endedAtMs: number | undefined;
        toolbarAbsent: string | undefined;
        toolbarBytes: number | undefined;
      })
    | undefined;
}
