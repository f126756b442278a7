/** A measured process: started on its core, found ready by its first answer, ended by SIGTERM. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from './connection.ts';
import { cpuOf, type CpuTime, memoryOf } from './cpu.ts';
import { pinnedNode } from './pin.ts';
import { freePort } from '../../test/support/server-process.ts';

export interface ProcessOptions {
  /** File to run, and options of node before it. */
  file: string;
  nodeOptions?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Asked until the first answer. */
  readyPath?: string;
  /** Milliseconds; default: 30,000. */
  startWithinMs?: number;
}

export interface MeasuredProcess {
  port: number;
  /** Milliseconds from spawn to the first answer. */
  startMs: number;
  cpu(): CpuTime;
  /** Resident memory, in bytes. */
  memory(): number;
  stop(): Promise<void>;
}

const START_WITHIN = 30_000;
const STOP_WITHIN = 10_000;
const POLL_MS = 2;

/** Status of one GET on a connection of its own; 0 where there was no answer. */
export function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve) => {
    const connection = openConnection(port);
    connection.get(path, (status) => {
      connection.close();
      resolve(status);
    });
  });
}

async function firstAnswer(
  child: ChildProcess,
  { port, path, withinMs }: { port: number; path: string; withinMs: number },
): Promise<void> {
  const startedAt = performance.now();
  while ((await statusOf(port, path)) === 0) {
    if (child.exitCode !== null) throw new Error(`The measured process ended with ${child.exitCode}.`);
    if (performance.now() - startedAt > withinMs) throw new Error('The measured process does not answer.');
    await sleep(POLL_MS);
  }
}

export async function startProcess(options: ProcessOptions): Promise<MeasuredProcess> {
  const { file, nodeOptions = [], env = {}, readyPath = '/', startWithinMs = START_WITHIN } = options;
  const port = await freePort();
  const [command, commandArguments] = pinnedNode([...nodeOptions, file]);
  const startedAt = performance.now();
  const child = spawn(command, commandArguments, {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(port),
      BENCH_PORT: String(port),
      ...env,
    },
    stdio: ['ignore', 'ignore', process.env.BENCH_STDERR === undefined ? 'ignore' : 'inherit'],
  });
  const pid = child.pid ?? 0;
  try {
    await firstAnswer(child, { port, path: readyPath, withinMs: startWithinMs });
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  const startMs = performance.now() - startedAt;
  return {
    port,
    startMs,
    cpu: () => cpuOf(pid),
    memory: () => memoryOf(pid),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      const timeout = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timeout);
    },
  };
}
