/** A steady load, as an open loop: a request is sent when it is due, however long others take. */
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Given {
  token: string;
  /** `performance.now()` when the response had arrived. */
  at: number;
}

export interface Failure {
  sentAt: number;
  why: string;
}

export interface Load {
  given: Given[];
  failures: Failure[];
  tookMs: number[];
}

export interface RunningLoad extends Load {
  /** Sends no more; resolves when all have ended. */
  end(): Promise<void>;
}

export interface LoadOptions {
  /** Asked in turn. */
  ports: readonly number[];
  /** Requests per second. */
  rate: number;
  path?: string;
}

/** Beyond that the machine is too slow for the rate, and more requests would only measure themselves. */
const MOST_RUNNING = 64;

/** Unlike `fetch`, without a timeout of its own. Resolves when the body has been read. */
function ask(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.once('error', reject);
      response.once('end', () => {
        resolve(response);
      });
      response.resume();
    }).once('error', reject);
  });
}

export function startLoad({ ports, rate, path = '/' }: LoadOptions): RunningLoad {
  const load: Load = { given: [], failures: [], tookMs: [] };
  const agent = new Agent({ keepAlive: true });
  let over = false;

  async function send(port: number): Promise<void> {
    const sentAt = performance.now();
    try {
      const { headers, statusCode = 0 } = await ask(`http://127.0.0.1:${port}${path}`, agent);
      load.tookMs.push(performance.now() - sentAt);
      const token = headers['x-debug-token'];
      if (typeof token !== 'string' || statusCode >= 500)
        load.failures.push({ sentAt, why: `status ${statusCode}` });
      else load.given.push({ token, at: performance.now() });
    } catch (error) {
      load.failures.push({ sentAt, why: String(error) });
    }
  }

  async function run(): Promise<void> {
    const running = new Set<Promise<void>>();
    const startedAt = performance.now();
    for (let due = 0; !over; due++) {
      await sleep(Math.max(0, startedAt + (due * 1000) / rate - performance.now()));
      if (running.size >= MOST_RUNNING) continue;
      const request: Promise<void> = send(ports[due % ports.length] ?? 0).finally(() =>
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
      agent.destroy();
    },
  });
}

/** Milliseconds, as text; `share` from 0 to 1. */
export function percentile(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)} ms`;
}
