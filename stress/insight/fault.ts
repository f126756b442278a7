/** A fault as the bench knows it; the application that carries it has no trace of any of this. */

export interface Answer {
  /** As asked, with its query. */
  path: string;
  /** 0: the connection ended before a response. */
  status: number;
  headers: Headers;
  text: string;
  ms: number;
  /** Of its profile. */
  token: string;
  /** What the process has printed on stderr since the request. */
  printed: () => string;
}

export interface Shop {
  get(path: string, init?: RequestInit): Promise<Answer>;
  /** Sends JSON. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Answer>;
}

export interface Fault {
  name: string;
  /** Texts of files that are replaced: file, before, after. */
  change?: readonly (readonly [file: string, before: string, after: string])[];
  /** Statement that is run on the database before the application starts. */
  sql?: string;
  /** What a partner does instead of what it usually does, by the start of the path. */
  partner?: Readonly<Record<string, Behaviour>>;
  /** The request that somebody complains about. */
  ask: (shop: Shop) => Promise<Answer>;
  /** What they complain about; `usual` is the same request where the fault is not planted. */
  symptom: (answer: Answer, usual: Answer) => boolean;
  /** What a finding has to say to name the mechanism. */
  says: RegExp;
  /** Lines that a finding has to name as the place, as `file: text in it`. Empty: there is none in the code. */
  at: readonly string[];
}

export interface Behaviour {
  status?: number;
  waitMs?: number;
  /** Fails only the first so many times. */
  times?: number;
  body?: string;
}

/** Takes at least three times as long as usual, and so much longer that a busy machine alone does not explain it. */
export function isSlow({ ms }: Answer, usual: Answer): boolean {
  return ms > usual.ms * 2 && ms > usual.ms + 60;
}

export const status =
  (code: number): Fault['symptom'] =>
  (answer) =>
    answer.status === code;
