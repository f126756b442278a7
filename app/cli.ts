#!/usr/bin/env node
/** The door of the command line, `npx express-hindsight`. It is started, never imported. */
import { createInterface } from 'node:readline/promises';
import { FAILED } from './cli/client.ts';
import { runProgram } from './cli/program.ts';
import { packageVersion, registerUrl } from './paths.ts';
import { ignoreFailedWrites, printError } from './print.ts';

const { stdin, stdout, env, argv } = process;
const isTerminal = stdout.isTTY;

// A reader such as `head` that has seen enough, or a disk that is full.
stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') printError(`The result can’t be written: ${message}.\n`);
  process.exit(code === 'EPIPE' ? 0 : FAILED);
});
ignoreFailedWrites(process.stderr);

async function confirm(question: string): Promise<boolean | null> {
  if (!stdin.isTTY) return null;
  const asking = createInterface({ input: stdin, output: process.stderr });
  const answer = await asking.question(`${question} [y/N] `);
  asking.close();
  return /^y(es)?$/i.test(answer.trim());
}

void runProgram(argv.slice(2), {
  env,
  screen: {
    write: (text) => void stdout.write(text),
    colours: isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb',
    columns: isTerminal ? stdout.columns : undefined,
  },
  stdin,
  stdout,
  version: packageVersion(),
  note: (sentence) => printError(`${sentence}\n`),
  confirm,
  register: registerUrl(),
  // The profiler is loaded only where its database is read.
  storedProjects: async (path) => (await import('./compose/open-stored.ts')).storedProjects(path),
  openFiles: async (options) => (await import('./compose/open-stored.ts')).openStoredFiles(options),
  openDatabase: async (options) => (await import('./compose/open-stored.ts')).openStored(options),
}).then((code) => {
  process.exitCode = code;
});
