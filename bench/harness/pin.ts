/**
 * Which core runs what: the measured process on the first, everything else (this process with the load generator and the
 * collector, and PostgreSQL, which inherits it) on the second. Without taskset or a second core nothing is pinned.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const SERVER_CORE = '0';
const OTHERS_CORE = '1';

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

export function pinThisProcess(): void {
  if (canPin) execFileSync('taskset', ['-acp', OTHERS_CORE, String(process.pid)], { stdio: 'ignore' });
}

/** Command and arguments that run node on the measured core; taskset becomes node, so that the pid is its own. */
export function pinnedNode(nodeArguments: readonly string[]): [string, string[]] {
  if (!canPin) return [process.execPath, [...nodeArguments]];
  return ['taskset', ['-c', SERVER_CORE, process.execPath, ...nodeArguments]];
}
