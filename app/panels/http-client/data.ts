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
  'sentMs' | 'requestHeaders' | 'responseHeaders' | 'requestBody' | 'responseBody'
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
  unkept?: Unkept;
  totals: {
    calls: number;
    hosts: number;
    failed: number;
  };
}
