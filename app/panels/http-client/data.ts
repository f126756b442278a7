import type { Facts } from '../../profiler/record/facts.ts';
import type { NamedValue } from '../../profiler/record/raw-headers.ts';
import type { Unkept } from '../shared/unkept.ts';

export interface CallBodyEntry {
  bytes: number;
  text: string | null;
  truncated: boolean;
}

type CallFact = Facts['call'];

export interface CallEntry extends Omit<
  CallFact,
  'sentMs' | 'path' | 'requestHeaders' | 'responseHeaders' | 'requestBody' | 'responseBody'
> {
  sentMs?: number;
  requestHeaders: NamedValue[];
  responseHeaders: NamedValue[];
  /** Absent if there was none, it was no text, or the client does not report it. */
  requestBody?: CallBodyEntry;
  responseBody?: CallBodyEntry;
}

export interface HttpClientData {
  calls: CallEntry[];
  /** By the line that calls: the lines from the one that loops to it, if that is another one; absent if there is none. */
  loops?: Readonly<Record<string, readonly string[]>>;
  unkept?: Unkept;
  totals: {
    calls: number;
    hosts: number;
    failed: number;
  };
}
