/** Child processes -> facts `process`: those of Node's channel `child_process`, and the synchronous ones of channels/child-process.ts. */
import type { ChildProcess } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { type EventEmitter, errorMonitor } from 'node:events';
import { commandSecrets } from '../profiler/masking/redact-commands.ts';
import { truncateText } from '../profiler/record/plain.ts';
import { type RanSync, syncProcessChannel } from './channels/child-process.ts';
import { createCallRecorder } from './observe-calls.ts';
import type { Called } from './stacks/caller.ts';
import { closing, type ObserverParts, subscribeTo, subscribeToCalls } from './subscribe.ts';

export interface ProcessFact extends Called {
  command: string;
  args: { name: string | null; value: string }[];
  /** The event loop waited for it. */
  isSync: boolean;
  startMs: number;
  durationMs: number | null;
  exitCode: number | null;
  signal: string | null;
  error: string | null;
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    process: ProcessFact;
  }
}

const TEXT_LENGTH = 500;
const MOST_ARGS = 30;

function textOf(value: unknown): string {
  return typeof value === 'string' ? truncateText(value, TEXT_LENGTH) : String(value).slice(0, TEXT_LENGTH);
}

function argsOf(program: unknown, values: unknown): ProcessFact['args'] {
  if (!Array.isArray(values)) return [];
  const texts = values.slice(0, MOST_ARGS).map(textOf);
  const secrets = new Map(
    commandSecrets(String(program), texts).map(({ index, from }) => [index, from] as const),
  );
  return texts.flatMap((value, index) => {
    const from = secrets.get(index);
    if (from !== undefined)
      return [
        ...(from === 0 ? [] : [{ name: null, value: value.slice(0, from) }]),
        { name: 'password', value: value.slice(from) },
      ];
    const before: unknown = values[index - 1];
    const isValue = typeof before === 'string' && /^--?[a-z][\w-]*$/i.test(before);
    return [{ name: isValue ? before : null, value }];
  });
}

function commandOf(file: unknown, args: readonly unknown[]): Pick<ProcessFact, 'command' | 'args'> {
  const isShell = typeof file === 'string' && /(?:^|[\\/])(?:sh|bash|cmd\.exe)$/i.test(file);
  const at = args.findIndex((arg) => arg === '-c' || arg === '/c');
  if (isShell && at !== -1 && args.length === at + 2) return { command: textOf(args[at + 1]), args: [] };
  return { command: textOf(file), args: argsOf(file, args) };
}

/** execSync and execFileSync throw if the program fails, and return what it printed. */
function syncOutcome({
  result,
  error,
}: RanSync): Pick<ProcessFact, 'exitCode' | 'signal'> & { failure: unknown } {
  const ended = (error ?? result ?? {}) as { status?: unknown; signal?: unknown; error?: unknown };
  const status = typeof ended.status === 'number' ? ended.status : null;
  return {
    exitCode: status ?? (error === undefined && ended.error === undefined ? 0 : null),
    signal: typeof ended.signal === 'string' ? ended.signal : null,
    failure: ended.error ?? (status === null ? error : undefined),
  };
}

export function observeProcesses(parts: ObserverParts): { close(): void } {
  const calls = createCallRecorder({ ...parts, fact: 'process' });

  function begin(key: object, isSync: boolean, { command, args }: RanSync): void {
    calls.begin(key, (findCalled) => ({
      ...commandOf(command, Array.isArray(args) ? args : []),
      isSync,
      exitCode: null,
      signal: null,
      error: null,
      ...findCalled(),
    }));
  }

  /** Published by the constructor: program and arguments are known a moment later. */
  function spawned(child: ChildProcess): void {
    begin(child, false, { command: '', args: [] });
    const fact = calls.running(child)?.fact;
    if (fact === undefined) return;
    const name = (): void => {
      const { spawnfile, spawnargs } = child as { spawnfile?: unknown; spawnargs?: unknown };
      if (spawnfile !== undefined)
        Object.assign(fact, commandOf(spawnfile, Array.isArray(spawnargs) ? spawnargs.slice(1) : []));
    };
    const end = (code: number | null, signal: string | null): void => {
      calls.end(child, undefined, () => {
        name();
        fact.signal = signal;
        fact.exitCode = code;
      });
    };
    process.nextTick(name);
    // No listener of `error`: without one of the host's own, it has to be thrown. Nothing follows then.
    (child as EventEmitter).once(errorMonitor, (error: unknown) => {
      if (child.pid === undefined) calls.end(child, error, name);
    });
    child.once('exit', end);
    child.once('close', end);
  }

  return closing([
    subscribeTo<{ process: ChildProcess }>(diagnostics.channel('child_process'), ({ process: child }) =>
      spawned(child),
    ),
    subscribeToCalls<RanSync>(syncProcessChannel, {
      start(message) {
        begin(message, true, message);
      },
      asyncStart(message) {
        const { failure, ...ended } = syncOutcome(message);
        calls.end(message, failure, (fact) => Object.assign(fact, ended));
      },
    }),
  ]);
}
