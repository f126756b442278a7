/** `run -- <command>`: starts a command whose Node.js processes are recorded, for those who can't edit its options. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { CommandError, FAILED } from './client.ts';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface RunOptions {
  command: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  register: string;
}

export async function runRecorded({ command, env, register }: RunOptions): Promise<number> {
  const [name = '', ...args] = command;
  const child = spawn(name, args, {
    stdio: 'inherit',
    // There, commands such as npm are scripts of the shell.
    shell: process.platform === 'win32',
    env: { ...env, NODE_OPTIONS: `${env.NODE_OPTIONS ?? ''} --import ${register}`.trim() },
  });
  // A terminal sends them to the command as well, which decides.
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    throw new CommandError(`${name} can’t be started: ${(error as Error).message}.`, FAILED);
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward);
  }
}
