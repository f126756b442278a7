#!/usr/bin/env node
/** The door of the command line, `npx express-hindsight`. It is started, never imported. */
import { runProgram } from './cli/program.ts';

const { stdout, env, argv } = process;
const isTerminal = stdout.isTTY;

// A reader such as `head` that has seen enough.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

void runProgram(argv.slice(2), {
  env,
  screen: {
    write: (text) => void stdout.write(text),
    colours: isTerminal && (env.NO_COLOR ?? '') === '',
    columns: isTerminal ? stdout.columns : undefined,
  },
  note: (sentence) => void process.stderr.write(`${sentence}\n`),
}).then((code) => {
  process.exitCode = code;
});
