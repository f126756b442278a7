/** Requests to the service whose responses are noted with their tokens: at a steady rate, or as fast as it responds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, openConnection } from '../../bench/harness/connection.ts';

export interface Given {
  token: string;
  /** `performance.now()` when the response had arrived. */
  at: number;
}

export interface Load {
  given: Given[];
  /** A sentence for each request that failed. */
  failures: string[];
  tookMs: number[];
}

export interface RunningLoad extends Load {
  /** Sends no more; resolves when all have ended. */
  end(): Promise<void>;
}

/** One kind of request; `latest`: token of a recent response. */
export interface Kind {
  path: (number: number, latest: string) => string;
  /** Of the response; null: the client leaves before it. */
  status: number | null;
  init?: () => RequestInit;
  /** A page of the profiler: its token is no profile to be stored. */
  isOwn?: boolean;
}

export interface LoadOptions {
  /** Asked in turn. */
  ports: readonly number[];
  /** Requests per second. */
  rate: number;
  /** Sent in turn. */
  kinds?: readonly Kind[];
}

const PAGE: Kind = { path: () => '/', status: 200 };
/** Beyond that the machine is too slow for the rate, and more requests would only measure themselves. */
const MOST_RUNNING = 64;
/** Milliseconds after which clients leave that do not wait for the response. */
const LEAVES_AFTER = 50;

/** An open loop: a request is sent when it is due, however long others take. */
export function startLoad({ ports, rate, kinds = [PAGE] }: LoadOptions): RunningLoad {
  const load: Load = { given: [], failures: [], tookMs: [] };
  let latest = '';
  let over = false;

  async function send(port: number, kind: Kind, number: number): Promise<void> {
    const { status, init, isOwn = false } = kind;
    const path = kind.path(number, latest);
    const sentAt = performance.now();
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { connection: 'close' },
        signal: status === null ? AbortSignal.timeout(LEAVES_AFTER) : null,
        ...init?.(),
      });
      await response.arrayBuffer();
      if (isOwn) return;
      load.tookMs.push(performance.now() - sentAt);
      const token = response.headers.get('x-debug-token');
      if (token === null || response.status !== status) load.failures.push(`${path}: ${response.status}`);
      else latest = token;
      for (const one of [token, response.headers.get('x-previous-debug-token')])
        if (one !== null) load.given.push({ token: one, at: performance.now() });
    } catch (error) {
      if (status !== null && !isOwn) load.failures.push(`${path}: ${String(error)}`);
    }
  }

  async function run(): Promise<void> {
    const running = new Set<Promise<void>>();
    const startedAt = performance.now();
    for (let due = 0; !over; due++) {
      await sleep(Math.max(0, startedAt + (due * 1000) / rate - performance.now()));
      if (running.size >= MOST_RUNNING) continue;
      const kind = kinds[due % kinds.length] ?? PAGE;
      const request: Promise<void> = send(ports[due % ports.length] ?? 0, kind, due).finally(() =>
        running.delete(request),
      );
      running.add(request);
    }
    await Promise.all(running);
  }

  const ended = run();
  return Object.assign(load, {
    async end() {
      over = true;
      await ended;
    },
  });
}

export interface Answer {
  /** 0: the connection ended before a response. */
  status: number;
  /** Of the response, and of its error page. */
  tokens: string[];
}

export interface FloodOptions {
  port: number;
  connections: number;
  /** Path of the next request; null: there is none. */
  next: () => string | null;
  answered: (answer: Answer) => void;
}

/** Milliseconds before a connection that broke is made anew. */
const AGAIN_AFTER = 20;
const TOKEN = /\r\nx-(?:previous-)?debug-token: ([0-9a-f]{6})/gi;

/** Connections that each ask again as soon as they have their response, until `next` has given null to all. */
export async function flood({ port, connections, next, answered }: FloodOptions): Promise<void> {
  async function keepAsking(): Promise<void> {
    let connection: Connection = openConnection(port);
    for (let path = next(); path !== null; path = next()) {
      const asked = path;
      const { status, head } = await new Promise<{ status: number; head: string }>((resolve) => {
        connection.get(asked, (status, head) => {
          resolve({ status, head });
        });
      });
      answered({ status, tokens: Array.from(head.matchAll(TOKEN), ([, token = '']) => token) });
      if (status !== 0 && !/\r\nconnection: close/i.test(head)) continue;
      connection.close();
      if (status === 0) await sleep(AGAIN_AFTER);
      connection = openConnection(port);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: connections }, keepAsking));
}

/** Milliseconds, as text; `share` from 0 to 1. */
export function percentile(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)} ms`;
}
