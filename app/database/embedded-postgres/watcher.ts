/**
 * Starts the server under a small shell script in a session of its own, which stops it when its last user is gone.
 *
 * The kernel tells the script who is there, so nothing polls and nothing is left behind, however a process ended. Who
 * starts the server holds the write end of the script's standard input; who joins later holds the write end of a named
 * pipe beside the socket (`users.<pid of the server>`), after one line that says so. When both have no writer left, the
 * script waits a little (a service that restarts finds its server running), and stops it unless a line has come.
 * Where the script was killed, who finds out starts another, with a pipe of the next number (`users.<pid>.1`): a pipe has
 * its reader before it has its name, and one name is given once, so that there are never two scripts on one server.
 * Two shells take 0.4 MB; a second Node process was rejected at 40 MB, polling process numbers because they are reused.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { childEnvironment } from './account.ts';
import { codeOf } from './errors.ts';
import type { Places } from './places.ts';
import { SOCKET_PORT } from './places.ts';
import type { Postmaster } from './postmaster.ts';
import { serverSettings } from './settings.ts';

/** Seconds the server stays after its last user. */
export const DEFAULT_LINGER = 2;

/** Arguments: socket folder, data folder, log, seconds to linger, whether to remove the socket folder, then the server. */
const SCRIPT = `
unset HINDSIGHT_WATCH
run=$1 data=$2 log=$3 linger=$4 temporary=$5
shift 5
adopted= lost=
umask 077
exec 5<&0 </dev/null

# The pipe of users, open for reading: whoever can see its name finds a reader, or one that has died.
fresh=$run/.users.$$
rm -f "$fresh"; mkfifo "$fresh" || exit 1
exec 4<>"$fresh" 3<"$fresh" 4>&-

# Blocks while anybody uses the server, then stops it.
watch() {
  while read -r _ <&5; do :; done
  joined=yes
  while [ -n "$joined" ]; do
    left=$linger
    while [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
    joined=
    while read -r _ <&3; do joined=yes; done
  done
  stop
}

# A fast shutdown; after five seconds an immediate one, which the next start mends. Where the folder does not name the
# server any more, it was deleted, and there may be a new server in its place: the old one then dies at once, because an
# orderly end removes the socket by its name, which is the new one's. One that is not our child is left alone: its number
# may be another program's by now, and it ends by itself within a minute.
stop() {
  exec 3<&- 5<&-
  now=
  read -r now <"$data/postmaster.pid"
  if [ "$now" != "$server" ]; then
    [ -n "$adopted" ] || kill -KILL "$server"
    return
  fi
  kill -INT "$server"
  left=5
  while [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); kill -0 "$server" 2>/dev/null || return; done
  kill -QUIT "$server"
}

if [ "$1" = adopt ]; then
  adopted=yes server=$2 users=$run/users.$2.$3
  ln "$fresh" "$users" || lost=yes
  rm -f "$fresh"
  [ -z "$lost" ] || exit 1
  # In a shell of its own: who asked may be gone, and the signal of a closed pipe must not end this one.
  (echo watching)
  exec >/dev/null
  watch
  rm -f "$users"
  exit 0
fi

if [ -n "$(find "$log" -size +1024k 2>/dev/null)" ]; then : >"$log"; fi
# The pipe is named by the process that becomes the server, since nobody else knows its number before it runs.
/bin/sh -c 'rm -f "$2.$$".*; mv -f "$1" "$2.$$" && shift 2 && exec "$@"' sh "$fresh" "$run/users" "$@" \
  >>"$log" 2>&1 3<&- 5<&- &
server=$! users=$run/users.$!
watch &
watcher=$!
exec 3<&- 5<&-
trap 'kill -INT "$server"' TERM INT HUP
wait "$server"; code=$?
while kill -0 "$server" 2>/dev/null; do wait "$server"; code=$?; done
kill "$watcher" 2>/dev/null
rm -f "$fresh" "$users" "$users".*
[ "$temporary" = yes ] && rmdir "$run"
exit "$code"
`;

/** This process's hold on a server; letting go twice is harmless. */
export interface Hold {
  release(): void;
  /** Whether the script is still there to see that we leave. */
  watched(): boolean;
}

export interface Launch {
  hold: Hold;
  /** The script's exit code, when the server has ended. */
  exited: Promise<number | null>;
}

export interface Adoption extends Launch {
  /** Whether the script watches: false where another one has its number, or where it could not begin. */
  watching: Promise<boolean>;
}

export interface LaunchOptions {
  places: Places;
  socketFolder: string;
  /** Whether the socket folder goes with the server. */
  temporary: boolean;
  linger: number;
}

function spawnScript(
  { places, socketFolder, temporary, linger }: LaunchOptions,
  command: string[],
  output: 'ignore' | 'pipe',
): ChildProcess {
  const { data, log, runAs } = places;
  const named = [socketFolder, data, log, String(linger), temporary ? 'yes' : 'no'];
  // The script travels in the environment, so that a list of processes stays readable.
  return spawn('/bin/sh', ['-c', 'eval "$HINDSIGHT_WATCH"', 'hindsight-postgres', ...named, ...command], {
    ...runAs,
    cwd: '/',
    env: { ...childEnvironment(), HINDSIGHT_WATCH: SCRIPT },
    detached: true,
    stdio: ['pipe', output, 'ignore'],
  });
}

function launchOf(child: ChildProcess): Launch {
  child.unref();
  const pipe = child.stdin;
  // A pipe to a child is a socket; it must not keep this process alive.
  if (pipe instanceof Socket) pipe.unref();
  pipe?.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve);
    child.once('error', reject);
  });
  exited.catch(() => undefined);
  const hold: Hold = {
    release: () => pipe?.destroy(),
    watched: () => child.exitCode === null && child.signalCode === null,
  };
  return { hold, exited };
}

/** Whether the script says anything before it ends. */
function says(output: Readable | null): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (said: boolean): void => {
      resolve(said);
      output?.destroy();
    };
    output?.once('data', () => settle(true));
    output?.once('error', () => settle(false));
    output?.once('close', () => settle(false));
    if (output === null) resolve(false);
  });
}

/** Starts a server; it is ready when `postmaster.pid` says so. */
export function launch(options: LaunchOptions): Launch {
  const { places, socketFolder } = options;
  const settings = Object.entries(serverSettings()).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [
    join(places.native, 'bin', 'postgres'),
    ...['-D', places.data, '-k', socketFolder, '-p', String(SOCKET_PORT)],
    ...settings,
  ];
  return launchOf(spawnScript(options, command, 'ignore'));
}

/**
 * Watches over a server that has lost its script, or was started by other means. `number`: one above that of the pipe
 * without a reader; the script ends at once where another has that number already.
 */
export function adopt(options: LaunchOptions, { pid }: Postmaster, number: number): Adoption {
  const child = spawnScript(options, ['adopt', String(pid), String(number)], 'pipe');
  return { ...launchOf(child), watching: says(child.stdout) };
}

/** Number of the newest pipe of a server; 0 where it has none. */
function newestPipe({ pid, socketFolder }: Postmaster): number {
  let names: string[] = [];
  try {
    names = readdirSync(socketFolder);
  } catch {
    // The folder is gone, and the server with it.
  }
  const prefix = `users.${pid}.`;
  const numbers = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return Math.max(0, ...numbers.filter((text) => /^\d+$/.test(text)).map(Number));
}

/** Joins the users of a running server. `hold`: null where nobody watches over it; `number`: that of its newest pipe. */
export function joinUsers(postmaster: Postmaster): { hold: Hold | null; number: number } {
  const number = newestPipe(postmaster);
  const name = `users.${postmaster.pid}${number === 0 ? '' : `.${number}`}`;
  return { hold: openPipe(join(postmaster.socketFolder, name)), number };
}

/** null where nobody reads it. */
function openPipe(path: string): Hold | null {
  const { O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  let descriptor: number;
  try {
    descriptor = openSync(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
  } catch {
    return null;
  }
  let open = true;
  const release = (): void => {
    if (open) closeSync(descriptor);
    open = false;
  };
  /** Without a reader the pipe refuses; a full one (64 KiB of such lines) has one. */
  const watched = (): boolean => {
    try {
      writeSync(descriptor, '\n');
      return true;
    } catch (error) {
      return codeOf(error) === 'EAGAIN';
    }
  };
  if (watched()) return { release, watched };
  release();
  return null;
}
