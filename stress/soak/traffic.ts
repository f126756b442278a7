/** What users of the service and of its pages do, one after the other at a fixed rate; and floods of pages that are not there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runLoad } from '../ledger/load.ts';
import type { Account } from '../ledger/account.ts';

/** One request; `latest`: token of a recent response. */
interface Kind {
  path: (number: number, latest: string) => string;
  /** Of the response; null: the client leaves before it. */
  status: number | null;
  init?: () => RequestInit;
  /** A page of the profiler: its token is no profile to be stored. */
  isOwn?: boolean;
}

const UPLOAD_BYTES = 64 * 1024;
/** Milliseconds after which clients leave that do not wait for the response. */
const LEAVES_AFTER = 50;

function form(): RequestInit {
  return { method: 'POST', body: new URLSearchParams({ name: 'Ann', password: 'correct horse' }) };
}

function upload(): RequestInit {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(UPLOAD_BYTES)]), 'zeros.bin');
  return { method: 'POST', body };
}

const KINDS: readonly Kind[] = [
  { path: () => '/', status: 200 },
  { path: (number) => `/articles/${1 + (number % 100)}?page=${number}`, status: 200 },
  { path: () => '/', status: 200 },
  { path: (number) => `/missing/${number}`, status: 404 },
  { path: () => '/form', status: 200, init: form },
  { path: () => '/broken', status: 500 },
  { path: () => '/form', status: 200, init: upload },
  { path: () => '/', status: 405, init: () => ({ method: 'PUT', body: 'text' }) },
  { path: () => '/slow', status: null },
  { path: () => '/_profiler/', status: 200, isOwn: true },
  { path: (_number, latest) => `/_profiler/${latest}`, status: 200, isOwn: true },
  { path: () => '/_profiler/live', status: null, isOwn: true },
];

export interface Traffic {
  /** Requests so far. */
  readonly asked: number;
  /** Requests to the application without their response, or with another status. */
  readonly failed: number;
  /** Resolves when every request has its response. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  port: number;
  perSecond: number;
  account: Account;
}

/** Requests at once, beyond which the next one waits: connections that a machine without time can't accept measure the machine. */
const MOST_AT_ONCE = 50;

/** A request is sent when it is due, however long others take, up to so many at once; what is late is not made up for. */
export function startTraffic({ port, perSecond, account }: TrafficOptions): Traffic {
  const running = new Set<Promise<void>>();
  let [asked, failed, latest, isOver] = [0, 0, '', false];

  async function ask({ path, status, init, isOwn = false }: Kind, number: number): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}${path(number, latest)}`, {
      // No connection is left open at rest.
      headers: { connection: 'close' },
      signal: status === null ? AbortSignal.timeout(LEAVES_AFTER) : null,
      ...init?.(),
    });
    await response.arrayBuffer();
    if (isOwn) return;
    const token = response.headers.get('x-debug-token');
    for (const given of [token, response.headers.get('x-previous-debug-token')])
      if (given !== null) account.give(given);
    if (token === null || response.status !== status) failed++;
    else latest = token;
  }

  async function askAll(): Promise<void> {
    let due = performance.now();
    while (!isOver) {
      due = Math.max(due + 1000 / perSecond, performance.now());
      await sleep(due - performance.now());
      while (running.size >= MOST_AT_ONCE) await Promise.race(running);
      const kind = KINDS[asked % KINDS.length];
      if (kind === undefined || isOver) return;
      const request = ask(kind, asked++)
        .catch(() => {
          if (kind.status !== null && kind.isOwn !== true) failed++;
        })
        .finally(() => running.delete(request));
      running.add(request);
    }
  }

  const asking = askAll();
  return {
    get asked() {
      return asked;
    },
    get failed() {
      return failed;
    },
    async stop() {
      isOver = true;
      await asking;
      await Promise.all(running);
    },
  };
}

/** So many connections, each asking for a page that is not there as soon as it has the last one. Gives the number of pages. */
export async function flood(
  { port, account }: Pick<TrafficOptions, 'port' | 'account'>,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<{ pages: number; broken: number }> {
  const until = performance.now() + seconds * 1000;
  let [pages, broken] = [0, 0];
  await runLoad({
    port,
    connections,
    next: () => (performance.now() < until ? `/flood/${pages}` : null),
    answered({ token, child }) {
      pages++;
      for (const given of [token, child]) if (given !== null) account.give(given);
    },
    broken: () => broken++,
  });
  return { pages, broken };
}
