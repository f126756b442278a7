/** The tracer that Hindsight is compared with, installed into a folder of the benchmark's own on first use. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { benchFolder } from './folders.ts';

export type Variant = 'bare' | 'hindsight' | 'dd-trace';

/** The file that Node.js loads before the application. */
export const DD_TRACE = join(benchFolder, 'apps', 'dd-trace.cjs');

export function installPeers(log: (line: string) => void): void {
  const folder = join(benchFolder, 'peers');
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return;
  log('Installing dd-trace into bench/peers …');
  const install = ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}
