/** Child processes -> facts `process`: those of Node's channel `child_process`, and the synchronous ones of channels/child-process.ts. */
import type { ChildProcess } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import type { Context } from '../profiler/context.ts';
import { truncateText } from '../profiler/plain.ts';
import { failureText } from '../profiler/thrown-value.ts';
import { type RanSync, syncProcessChannel } from './channels/child-process.ts';
import { closing, type ObserverParts, subscribeTo, subscribeToCalls } from './subscribe.ts';

export interface ProcessFact {
  /** The program, or the command of a shell. */
  command: string;
  /** `name`: the option before it, which says what it is. */
  args: { name: string | null; value: string }[];
  /** The event loop waited for it. */
  isSync: boolean;
  startMs: number;
  /** null while it runs. */
  durationMs: number | null;
  exitCode: number | null;
  signal: string | null;
  error: string | null;
  caller: string | null;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    process: ProcessFact;
  }
}

const TEXT_LENGTH = 500;
const MOST_ARGS = 30;
const FACT_BYTES = 500;
const FRAMES = 16;

function textOf(value: unknown): string {
  return typeof value === 'string' ? truncateText(value, TEXT_LENGTH) : String(value).slice(0, TEXT_LENGTH);
}

function argsOf(values: unknown): ProcessFact['args'] {
  if (!Array.isArray(values)) return [];
  return values.slice(0, MOST_ARGS).map((value: unknown, index) => {
    const before: unknown = values[index - 1];
    const isValue = typeof before === 'string' && /^--?[a-z][\w-]*$/i.test(before);
    return { name: isValue ? before : null, value: textOf(value) };
  });
}

/** `sh -c "command"` is the command. */
function commandOf(file: unknown, args: readonly unknown[]): Pick<ProcessFact, 'command' | 'args'> {
  const isShell = typeof file === 'string' && /(?:^|[\\/])(?:sh|bash|cmd\.exe)$/i.test(file);
  const at = args.findIndex((arg) => arg === '-c' || arg === '/c');
  if (isShell && at !== -1 && args.length === at + 2) return { command: textOf(args[at + 1]), args: [] };
  return { command: textOf(file), args: argsOf(args) };
}

export function observeProcesses({ tracker, findCaller }: ObserverParts): { close(): void } {
  const syncFacts = new WeakMap<RanSync, { context: Context; fact: ProcessFact }>();

  function begin(
    command: unknown,
    args: unknown,
    isSync: boolean,
  ): { context: Context; fact: ProcessFact } | null {
    const context = tracker.observed();
    if (context === undefined || context.isFull('process')) return null;
    const fact: ProcessFact = {
      ...commandOf(command, Array.isArray(args) ? args : []),
      isSync,
      startMs: context.elapsedMs(),
      durationMs: null,
      exitCode: null,
      signal: null,
      error: null,
      caller: findCaller?.({ frames: FRAMES, near: FRAMES }) ?? null,
    };
    context.add('process', fact, FACT_BYTES);
    return { context, fact };
  }

  /** Published by the constructor: program and arguments are known a moment later. */
  function spawned(child: ChildProcess): void {
    const begun = begin('', [], false);
    if (begun === null) return;
    const { context, fact } = begun;
    const name = (): void => {
      const { spawnfile, spawnargs } = child as { spawnfile?: unknown; spawnargs?: unknown };
      if (spawnfile !== undefined)
        Object.assign(fact, commandOf(spawnfile, Array.isArray(spawnargs) ? spawnargs.slice(1) : []));
    };
    const end = (code: number | null, signal: string | null): void => {
      if (fact.durationMs !== null) return;
      name();
      fact.durationMs = context.elapsedMs() - fact.startMs;
      fact.signal = signal;
      // A program that can't be started ends with the negative number of its error.
      if (code !== null && code < 0) fact.error = 'It could not be started.';
      else fact.exitCode = code;
    };
    process.nextTick(name);
    // No listener of `error`: without one of the host's own, it has to be thrown.
    child.once('exit', end);
    child.once('close', end);
  }

  function endSync(message: RanSync): void {
    const entry = syncFacts.get(message);
    if (entry === undefined) return;
    const { context, fact } = entry;
    fact.durationMs = context.elapsedMs() - fact.startMs;
    const outcome = (message.error ?? message.result ?? {}) as {
      status?: unknown;
      signal?: unknown;
      error?: unknown;
    };
    const hasStatus = typeof outcome.status === 'number';
    // execSync and execFileSync return what was printed.
    fact.exitCode = hasStatus ? (outcome.status as number) : message.error === undefined ? 0 : null;
    fact.signal = typeof outcome.signal === 'string' ? outcome.signal : null;
    if (outcome.error !== undefined) fact.error = failureText(outcome.error);
    else if (message.error !== undefined && !hasStatus) fact.error = failureText(message.error);
  }

  return closing([
    subscribeTo<{ process: ChildProcess }>(diagnostics.channel('child_process'), ({ process: child }) =>
      spawned(child),
    ),
    subscribeToCalls<RanSync>(syncProcessChannel, {
      start(message) {
        const begun = begin(message.command, message.args, true);
        if (begun !== null) syncFacts.set(message, begun);
      },
      end: endSync,
    }),
  ]);
}
