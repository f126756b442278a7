/**
 * The load generator: a closed loop (each connection asks again at once: saturation) and an open one (a fixed rate,
 * latency counted from the moment a request was due, so that a stall is seen by all who wait in it).
 */
import { openConnection, type Connection } from './connection.ts';

export interface Load {
  requests: number;
  /** Answers that were none or not 200. */
  errors: number;
  ms: number;
  /** Milliseconds per request. */
  latencies: number[];
}

export interface Target {
  port: number;
  /** Several are asked for in turn. */
  path: string | readonly string[];
  connections?: number;
}

const CONNECTIONS = 8;

function pathAt(path: Target['path'], number: number): string {
  return typeof path === 'string' ? path : (path[number % path.length] ?? '/');
}

/** Until `ms` are over or `requests` were answered. */
export function closedLoop(target: Target, end: { ms?: number; requests?: number }): Promise<Load> {
  const { port, path, connections = CONNECTIONS } = target;
  const { ms = Infinity, requests = Infinity } = end;
  const load: Load = { requests: 0, errors: 0, ms: 0, latencies: [] };
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let running = connections;
    let sent = 0;
    function ask(connection: Connection): void {
      const askedAt = performance.now();
      if (sent >= requests || askedAt - startedAt >= ms) {
        connection.close();
        load.ms = askedAt - startedAt;
        if (--running === 0) resolve(load);
        return;
      }
      connection.get(pathAt(path, sent++), (status) => {
        load.requests++;
        if (status !== 200) load.errors++;
        load.latencies.push(performance.now() - askedAt);
        // A broken connection would answer at once, for ever.
        if (status === 0) sent = Infinity;
        ask(connection);
      });
    }
    for (let number = 0; number < connections; number++) ask(openConnection(port));
  });
}

/** `perSecond` requests for `ms`; an idle connection is taken, or another one opened. */
export async function openLoop(
  target: Target,
  { perSecond, ms }: { perSecond: number; ms: number },
): Promise<Load> {
  const load: Load = { requests: 0, errors: 0, ms, latencies: [] };
  const idle: Connection[] = [];
  const answers: Promise<void>[] = [];
  const total = Math.round((perSecond * ms) / 1000);
  const startedAt = performance.now();

  function send(dueAt: number, number: number): Promise<void> {
    const connection = idle.pop() ?? openConnection(target.port);
    return new Promise((resolve) => {
      connection.get(pathAt(target.path, number), (status) => {
        load.requests++;
        if (status !== 200) load.errors++;
        load.latencies.push(performance.now() - dueAt);
        idle.push(connection);
        resolve();
      });
    });
  }

  for (let sent = 0; sent < total;) {
    const dueAt = startedAt + (sent * 1000) / perSecond;
    const wait = dueAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    else {
      answers.push(send(dueAt, sent++));
    }
  }
  await Promise.all(answers);
  for (const connection of idle) connection.close();
  return load;
}
