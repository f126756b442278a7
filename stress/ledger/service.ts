/** The service as it is deployed: the build, as a process of its own, with an owner's page; what it says is kept. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootFolder } from '../../bench/harness/folders.ts';

export interface LedgerService {
  pid: number;
  /** Whether it runs no more. */
  isOver(): boolean;
  /** What it wrote to stderr. */
  said(): string;
  /** Exit code after SIGTERM, and how long that took. */
  end(): Promise<{ code: number | null; ms: number }>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

const START_WITHIN_MS = 30_000;
/** Nothing that was recorded may go by retention. */
export const RETENTION = { PROFILER_RETENTION_COUNT: '8000000', PROFILER_RETENTION_MB: '1000000' };

/** Answers in a row, on connections of their own, after which every worker has its database. */
const READY_ANSWERS = 20;

/** Resolves when the list answers whole so often in a row, whichever process is asked: what comes before that waits in memory. */
export async function untilReady(port: number, answers = READY_ANSWERS): Promise<void> {
  for (let whole = 0; whole < answers;) {
    const answer = await fetch(`http://127.0.0.1:${port}/_profiler/search.json`, {
      headers: { connection: 'close' },
    });
    const { notice } = (await answer.json()) as { notice: string | null };
    whole = notice === null ? whole + 1 : 0;
    await sleep(20);
  }
}

/** `root`: folder of the package, or of a copy of it. */
export async function startService(
  port: number,
  env: Record<string, string>,
  root = rootFolder,
): Promise<LedgerService> {
  const route = pathToFileURL(join(root, 'stress', 'ledger', 'owner-route.mjs')).href;
  const child = spawn(process.execPath, ['--import', route, join(root, 'dist', 'app', 'server.js')], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      APP_ENV: 'dev',
      NODE_ENV: 'production',
      ...RETENTION,
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const deadline = Date.now() + START_WITHIN_MS;
  while (!text.includes('Listening on ')) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`It does not start: ${text}`);
    await sleep(5);
  }
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    isOver,
    said: () => text,
    async kill() {
      if (isOver()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async end() {
      const startedAt = performance.now();
      if (!isOver()) {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }
      return { code: child.exitCode, ms: performance.now() - startedAt };
    },
  };
}
