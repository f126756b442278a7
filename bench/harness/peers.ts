/** What Hindsight is compared with, installed into a folder of the benchmark's own on demand. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { benchFolder } from './folders.ts';

export const peers = ['dd-trace', 'opentelemetry', 'elastic-apm', 'sentry'] as const;

export type Variant = 'bare' | 'hindsight' | (typeof peers)[number];

/** File that node loads before the application. */
export function preloadOf(variant: Variant): string | null {
  return variant === 'bare' || variant === 'hindsight'
    ? null
    : join(benchFolder, 'variants', `${variant}.cjs`);
}

export function installPeers(log: (line: string) => void): void {
  const folder = join(benchFolder, 'peers');
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return;
  log('Installing the peers into bench/peers …');
  const install = ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}
