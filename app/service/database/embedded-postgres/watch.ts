/**
 * Starts the server below a small shell, which stops it when its last user has ended, even if it was killed. The process that starts the
 * server holds the shell's standard input, others hold the named pipe `users`; the kernel closes both for a dead process (decision 8).
 */
import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { childEnvironment } from './account.ts';
import { codeOf } from '../../../errors.ts';
import type { Places } from './places.ts';
import { SERVER_ARGUMENTS } from './settings.ts';

/**
 * Arguments: socket folder, log, seconds to linger, then the server's command. A process that joins writes a line, so that the shell
 * notices it while the server lingers. If a fast shutdown takes five seconds, an immediate one follows; the next start recovers.
 */
const SCRIPT = `
run=$1 log=$2 linger=$3
shift 3
umask 077
exec 2>>"$log" 4<&0 </dev/null
if [ -n "$(find "$log" -size +1024k)" ]; then : >"$log"; fi
mkdir -p "\${run%/*}" && mkdir "$run" && mkfifo "$run/users" || exit 1
exec 5<>"$run/users" 3<"$run/users" 5<&-
"$@" >&2 3<&- 4<&- &
server=$!
{
  while read -r _; do :; done <&4
  sleep "$linger"
  while read -r _; do
    while read -r _; do :; done
    sleep "$linger"
  done <&3
  exec 3<&- 4<&-
  kill -INT "$server"
  sleep 5
  kill -QUIT "$server"
} 2>/dev/null &
watch=$!
exec 3<&- 4<&-
wait "$server"
code=$?
kill "$watch"
rm -rf "$run"
exit "$code"
`;

export interface Hold {
  /** False if the shell has ended: then nothing stops the server after us. */
  watched(): boolean;
  release(): void;
}

export interface Launch {
  hold: Hold;
  /** Exit code of the server; rejects if the shell can't be started. */
  exited: Promise<number | null>;
}

/** Starts a server. `postmaster.pid` tells when it is ready. `socketFolder` must not exist. */
export function launch({ native, data, log, runAs }: Places, socketFolder: string, linger: number): Launch {
  const server = [join(native, 'bin', 'postgres'), '-D', data, '-k', socketFolder, ...SERVER_ARGUMENTS];
  // Detached: a terminal's Ctrl-C must not stop the server before the last profiles are stored.
  const child = spawn(
    '/bin/sh',
    ['-c', SCRIPT, 'hindsight-postgres', socketFolder, log, String(linger), ...server],
    { ...runAs, cwd: '/', env: childEnvironment(), detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  child.unref();
  // The pipe to a child is a socket, which would keep this process alive.
  if (child.stdin instanceof Socket) child.stdin.unref();
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve);
    child.once('error', reject);
  });
  exited.catch(() => undefined);
  return {
    exited,
    hold: {
      watched: () => child.exitCode === null && child.signalCode === null,
      release: () => child.stdin.destroy(),
    },
  };
}

/** Joins a running server; null if no shell watches it. */
export function joinUsers(socketFolder: string): Hold | null {
  const { O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  let pipe: number | null;
  try {
    pipe = openSync(join(socketFolder, 'users'), O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
  } catch {
    return null;
  }
  const hold: Hold = {
    watched() {
      try {
        return pipe !== null && writeSync(pipe, '\n') > 0;
      } catch (error) {
        // EAGAIN: the pipe is full, so it has a reader. Without a reader it is EPIPE.
        return codeOf(error) === 'EAGAIN';
      }
    },
    release() {
      if (pipe !== null) closeSync(pipe);
      pipe = null;
    },
  };
  // Root can't trust a name in a folder of another user, so it writes to a pipe only.
  if (fstatSync(pipe).isFIFO() && hold.watched()) return hold;
  hold.release();
  return null;
}
