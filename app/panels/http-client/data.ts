import type { Unkept } from '../shared/unkept.ts';

export interface HeaderRow {
  name: string;
  value: string;
}

export interface CallBodyEntry {
  /** As sent, compressed or not. */
  bytes: number;
  /** The first bytes as text; null if they can't be read as such, or must not be stored. */
  text: string | null;
  truncated: boolean;
}

export interface CallEntry {
  method: string;
  url: string;
  client: 'fetch' | 'http';
  status: number | null;
  startMs: number;
  durationMs: number | null;
  headersMs: number | null;
  connection: {
    lookupMs: number | null;
    connectMs: number | null;
    tlsMs: number | null;
    /** The sum, if the client reports no parts. */
    allMs?: number;
  } | null;
  /** Until the request was sent; absent if the client does not report it. */
  sentMs?: number;
  /** Sent over a reused connection; absent if the client does not report it. */
  reused?: boolean;
  requestHeaders: HeaderRow[];
  responseHeaders: HeaderRow[];
  /** Absent if there was none, it was no text, or the client does not report it. */
  requestBody?: CallBodyEntry;
  responseBody?: CallBodyEntry;
  error: string | null;
  /** Address of the profile that the called service recorded. */
  link: string | null;
  caller: string | null;
}

export interface HttpClientData {
  calls: CallEntry[];
  /** Past the recording limit; absent if all were kept. */
  unkept?: Unkept;
  /** With what is not kept. */
  totals: {
    calls: number;
    hosts: number;
    failed: number;
    /** Sum over all calls. */
    durationMs: number;
    /** Time in which at least one call was open. */
    busyMs: number;
  };
}
