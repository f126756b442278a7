import type { Facts, RefusedWrite, ResponseFact, UploadedFile } from '../../profiler/record/facts.ts';
import type { Json } from '../../profiler/json.ts';
import type { ParsedBody } from '../../profiler/record/parsed-body.ts';
import type { NamedValue } from '../../profiler/record/raw-headers.ts';
import type { HeaderAuthors, NamedAuthors } from '../shared/header-authors.ts';
import type { SessionAndUser } from './session-and-user.ts';
import type { TokenTimes } from './token-times.ts';

export interface ReceivedFile extends UploadedFile {
  /** It begins with the UTF-8 byte order mark, as far as its beginning was recorded. */
  byteOrderMark?: true;
}

export interface ReceivedBody extends ParsedBody {
  bytes: number;
  contentType: string | null;
  files: ReceivedFile[];
  /** Of a form with files: the names of its parts as they came, as far as their beginnings were recorded. */
  partNames?: string[];
  /** The first bytes as text; null if they are binary, or must not be stored. */
  text: string | null;
  truncated: boolean;
  /** Not read before the response headers were sent. */
  unread?: true;
  /** Bytes of a signed JSON body if it is written again; absent if that is the same text. */
  writtenAgain?: number;
}

/** A change of the response that came too late, with the index of its layer among those that ran. */
export type KeptRefusal = Omit<RefusedWrite, 'layer'> & { layer: number };

interface KeptResponse {
  headers: NamedValue[];
  /** Cookies over 4,096 bytes; absent if there are none. */
  oversized?: { name: string; bytes: number }[] | undefined;
  setBy?: HeaderAuthors | undefined;
  refused: KeptRefusal[];
  headersAtMs: number | null;
  endedAtMs?: number | undefined;
  sentFrom?: string | undefined;
  nextFrom?: string | null | undefined;
  isClosedHere?: true | undefined;
  /** Its compressor was flushed; only of an event stream. */
  isFlushed?: true | undefined;
  contentType: string | null;
  bytes: number;
  text: string | null;
  truncated: boolean;
  isErrorPage: boolean;
  /** Why it got no toolbar, in one word; null if it got one, or is not a page. */
  toolbarAbsent: string | null;
  /** Bytes of the toolbar’s tag, which text, size and Content-Length leave out. */
  toolbarBytes: number;
}

export interface KeptRequest {
  httpVersion: string;
  receivedRequestId: string | null;
  client: {
    peer: string;
    port: number;
    /** From the client to the peer, nearest last. */
    chain: string[];
    trusted: boolean;
    scheme: string;
    hostError: string | null;
  };
  query: NamedValue[];
  routeParams: { name: string; value: Json }[];
  headers: NamedValue[];
  /** Received cookies: name and length of the value. */
  jar: { name: string; length: number }[];
  expiring?: TokenTimes[] | undefined;
  /** The same for requests of one process that have the same credentials in a header. */
  mark?: string | undefined;
  body: ReceivedBody | null;
  sessionAndUser: SessionAndUser | null;
  appLocals?: readonly Facts['appLocal'][] | undefined;
  response?: KeptResponse | undefined;
}

export interface Response extends Omit<KeptResponse, 'refused'> {
  status: number | null;
  statusMessage: string;
  outcome: ResponseFact['outcome'] | 'cut off';
  authors: NamedAuthors | null;
  refused: (Omit<KeptRefusal, 'layer'> & { by: string | null })[];
}

export interface RequestPanelData extends Omit<KeptRequest, 'client' | 'response'> {
  method: string;
  url: string;
  requestId: string;
  client: KeptRequest['client'] & { address: string; origin: string | null };
  response: Response | null;
}
