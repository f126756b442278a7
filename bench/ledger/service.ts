/** The service as it is deployed: the build, as a process of its own, with an owner's page; what it says is kept. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchFolder, rootFolder } from '../harness/folders.ts';

export interface LedgerService {
  /** What it wrote to stderr. */
  said(): string;
  /** Exit code after SIGTERM, and how long that took. */
  end(): Promise<{ code: number | null; ms: number }>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

const START_WITHIN_MS = 30_000;
/** Nothing that was recorded may go by retention. */
const RETENTION = { PROFILER_RETENTION_COUNT: '8000000', PROFILER_RETENTION_MB: '1000000' };

/** Answers in a row, on connections of their own, after which every worker has its database. */
const READY_ANSWERS = 20;

/** Resolves when the list answers whole, whichever process is asked: what comes before that waits in memory. */
export async function untilReady(port: number): Promise<void> {
  for (let whole = 0; whole < READY_ANSWERS;) {
    const answer = await fetch(`http://127.0.0.1:${port}/_profiler/search.json`, {
      headers: { connection: 'close' },
    });
    const { notice } = (await answer.json()) as { notice: string | null };
    whole = notice === null ? whole + 1 : 0;
    await sleep(20);
  }
}

export async function startService(port: number, env: Record<string, string>): Promise<LedgerService> {
  const route = pathToFileURL(join(benchFolder, 'ledger', 'owner-route.mjs')).href;
  const child = spawn(process.execPath, ['--import', route, join(rootFolder, 'dist', 'app', 'server.js')], {
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
  return {
    said: () => text,
    async kill() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async end() {
      const startedAt = performance.now();
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }
      return { code: child.exitCode, ms: performance.now() - startedAt };
    },
  };
}
