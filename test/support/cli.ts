/** The command line in this process: what it prints, and how it ends. */
import { PassThrough } from 'node:stream';
import { type ProgramOptions, runProgram } from '../../app/cli/program.ts';
import { openStored, openStoredFiles, storedProjects } from '../../app/compose/open-stored.ts';
import { registerUrl } from '../../app/paths.ts';
import type { TestConnection } from './postgres.ts';

/** As it is given to --database. */
export function databaseUrl({ host, port, user, password, database }: TestConnection): string {
  const url = new URL('postgres://localhost');
  url.username = user;
  url.password = password ?? '';
  url.pathname = `/${database}`;
  url.searchParams.set('host', host);
  url.searchParams.set('port', String(port));
  return url.href;
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** `options` replaces what a terminal, the environment or the package would give. */
export async function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  options: Partial<ProgramOptions> = {},
): Promise<Ended> {
  const ended = { stdout: '', stderr: '' };
  const stdout = new PassThrough().on('data', (text: Buffer) => (ended.stdout += text.toString()));
  const code = await runProgram(args, {
    env,
    screen: { write: (text) => void (ended.stdout += text), colours: false, columns: undefined },
    stdin: new PassThrough().end(),
    stdout,
    version: '1.2.3',
    note: (sentence) => void (ended.stderr += `${sentence}\n`),
    confirm: () => Promise.resolve(null),
    register: registerUrl(),
    storedProjects: (path) => Promise.resolve(storedProjects(path)),
    openFiles: openStoredFiles,
    openDatabase: openStored,
    ...options,
  });
  return { code, ...ended };
}
