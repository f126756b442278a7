/** A process that shares its one CPU with another: prints how long it computed, with how much CPU, and what counted as a block. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { observeRuntime } from '../../app/observe/runtime.ts';
import { createCallerFinder } from '../../app/observe/caller.ts';
import { Context, ContextTracker } from '../../app/profiler/context.ts';

const WORK_MS = 150;

function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const observer = observeRuntime({ tracker: new ContextTracker(), findCaller: createCallerFinder() });
const context = new Context({ token: '000001', kind: 'request' });
observer.onRequest(context);
const rivals = Array.from({ length: 2 }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
await sleep(200);
const from = context.elapsedMs();
const cpuFrom = cpuTime();
while (cpuTime() - cpuFrom < WORK_MS);
const to = context.elapsedMs();
const cpuMs = cpuTime() - cpuFrom;
context.end();
const blocks = context.first('runtime')?.read().blocks ?? [];
for (const rival of rivals) rival.kill('SIGKILL');
observer.close();
const blockedMs = blocks
  .filter(({ startMs, durationMs }) => startMs + durationMs > from)
  .reduce((sum, { durationMs }) => sum + durationMs, 0);
process.stdout.write(JSON.stringify({ wallMs: to - from, cpuMs, blockedMs }));
