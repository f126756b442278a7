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
}

const START_WITHIN_MS = 30_000;
/** Nothing that was recorded may go by retention. */
const RETENTION = { PROFILER_RETENTION_COUNT: '8000000', PROFILER_RETENTION_MB: '1000000' };

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
