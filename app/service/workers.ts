/**
 * Several processes of the service on one port (WEB_CONCURRENCY), by node:cluster: a primary that supervises, and workers that are the service as it runs
 * alone. Workers accept from the shared port themselves: if the primary distributed connections, one on its way to a killed worker would
 * hang. The first worker listens before the others start, so that a wrong start is reported once.
 */
import cluster, { type Address, type Worker } from 'node:cluster';
import { isIPv6 } from 'node:net';

export interface Workers {
  /** Sends the signal to the workers. They store their profiles, and `ended` resolves when the last one has ended. */
  end(signal: NodeJS.Signals): void;
  readonly ended: Promise<number>;
}

interface Place {
  number: number;
  worker: Worker | null;
  startedAt: number;
  pauseMs: number;
}

/** A worker that lived this long did not fail at its start. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** Longer than the time after which a worker ends itself. */
const KILL_AFTER_MS = 27_000;

/** Whether this process is one of several; false in the primary. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Calls `gone` when the primary has died. Node would end this process at once and lose profiles that are not stored yet. */
export function onPrimaryGone(gone: () => void): void {
  const { worker } = cluster;
  worker?.once('disconnect', () => {
    if (worker.exitedAfterDisconnect) return;
    worker.exitedAfterDisconnect = true;
    gone();
  });
}

function originOf({ address, port }: Address): string {
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

export function startWorkers(options: { count: number; say: (sentence: string) => void }): Workers {
  const { count, say } = options;
  const places: Place[] = [];
  let listening = false;
  let steady = false;
  let ending = false;
  let exitCode = 0;
  let resolveEnded: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (resolveEnded = resolve));

  function fill(place: Place): void {
    if (ending) return;
    place.startedAt = performance.now();
    const worker = cluster.fork();
    place.worker = worker;
    worker.on('error', () => undefined);
    worker.once('listening', opened);
    worker.once('exit', (code: number | null, signal: string | null) => {
      place.worker = null;
      left(place, worker, { code, signal });
    });
  }

  function add(): void {
    const place = { number: places.length + 1, worker: null, startedAt: 0, pauseMs: 0 };
    places.push(place);
    fill(place);
  }

  /** The first worker listens: start the others. */
  function opened(address: Address): void {
    if (listening) return;
    listening = true;
    say(`Listening on ${originOf(address)} with ${count} workers`);
    while (!ending && places.length < count) add();
    setTimeout(() => (steady = true), STEADY_MS).unref();
  }

  function left(
    place: Place,
    { process: { pid } }: Worker,
    { code, signal }: { code: number | null; signal: string | null },
  ): void {
    if (ending) {
      exitCode = Math.max(exitCode, code ?? (signal === 'SIGKILL' ? 1 : 0));
      endWhenEmpty();
      return;
    }
    if (!listening || (!steady && code !== null && code !== 0)) {
      exitCode = code || 1;
      end('SIGTERM');
      return;
    }
    const young = performance.now() - place.startedAt < STEADY_MS;
    place.pauseMs = young ? Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, place.pauseMs * 2)) : 0;
    const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
    const when = place.pauseMs === 0 ? '' : ` in ${place.pauseMs / 1000} s`;
    say(`Worker ${place.number} (process ${pid}) ${how}; another takes its place${when}.`);
    setTimeout(() => {
      fill(place);
    }, place.pauseMs).unref();
  }

  function endWhenEmpty(): void {
    if (places.every(({ worker }) => worker === null)) resolveEnded(exitCode);
  }

  function end(signal: NodeJS.Signals): void {
    if (!ending) {
      setTimeout(() => {
        for (const { worker } of places) worker?.process.kill('SIGKILL');
      }, KILL_AFTER_MS).unref();
    }
    ending = true;
    for (const { worker } of places) worker?.process.kill(signal);
    endWhenEmpty();
  }

  cluster.schedulingPolicy = cluster.SCHED_NONE;
  add();
  return { end, ended };
}
