/** A process that shares its one CPU with another: prints how long it computed, with how much CPU, how long it waited, and what counted as a block. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { observeRuntime } from '../../app/observe/runtime.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

const WORK_MS = 150;

function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds for which its thread was ready to run and did not, as Linux counts them. */
function waitedTime(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]) / 1e6;
}

const observer = observeRuntime({ tracker: new ContextTracker(), findCaller: createCallerFinder() });
const rivals = Array.from({ length: 2 }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
await sleep(200);
const context = new Context({ token: '000001', kind: 'request' });
observer.onRequest(context);
const from = context.elapsedMs();
const cpuFrom = cpuTime();
const waitedFrom = waitedTime();
while (cpuTime() - cpuFrom < WORK_MS);
const to = context.elapsedMs();
const cpuMs = cpuTime() - cpuFrom;
const waitedMs = waitedTime() - waitedFrom;
context.end();
const blocks = context.first('runtime')?.read().blocks ?? [];
for (const rival of rivals) rival.kill('SIGKILL');
observer.close();
const blockedMs = blocks.reduce((sum, { durationMs }) => sum + durationMs, 0);
process.stdout.write(JSON.stringify({ wallMs: to - from, cpuMs, waitedMs, blockedMs }));
