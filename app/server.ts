/**
 * The process: config -> service -> listen -> database -> signals. The only file that listens or exits. With
 * WEB_CONCURRENCY above one it starts that many of itself and answers nothing.
 *
 * It answers before the database is ready. SIGTERM and SIGINT: stop accepting, finish what runs, store what is buffered,
 * exit 0. Something uncaught: the same, exit 1. A signal that comes again while that takes long: exit at once.
 */
import { ignoreFailedWrites, printError } from './print.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import type * as workers from './service/workers.ts';
import { endsProcess } from './profiler/record/process-end.ts';
import { urls } from './urls.ts';

ignoreFailedWrites(process.stdout);
ignoreFailedWrites(process.stderr);

/** Milliseconds that the end may take after an uncaught error: another process is waited for. */
const AFTER_CRASH = 4500;
/** The share of its time after which the end itself should be over. Whatever still holds the process then has the rest. */
const END_SHARE = 0.95;

/** Milliseconds after which a second signal is meant; npm and the terminal both send a Ctrl-C. */
const ONE_SIGNAL = 1000;
/** Milliseconds after which an end that takes long says so. */
const LONG_END = 4000;

/** Connections that may wait to be accepted. Beyond Node's 511 the next one is tried again by its client after a second. */
const MOST_UNACCEPTED = 4096;

function say(sentence: string): void {
  printError(`${sentence}\n`);
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

type Cluster = typeof workers;

async function start(): Promise<void> {
  const config = readConfig();
  const cluster = config.workers > 1 ? await import('./service/workers.ts') : null;
  const alone = cluster?.isWorker() !== true;
  if (alone) for (const warning of config.warnings) say(warning);
  if (cluster !== null && alone) lead(cluster, config.workers);
  else await serve(config, cluster);
}

function lead({ startWorkers }: Cluster, count: number): void {
  const { end, ended } = startWorkers({ count, say });
  for (const signal of SIGNALS)
    process.on(signal, () => {
      end(signal);
    });
  void ended.then((code) => process.exit(code));
}

/** `cluster`: null if this process is the only one. */
async function serve(config: Config, cluster: Cluster | null): Promise<void> {
  const [{ createService }, { routes }] = await Promise.all([
    import('./service.ts'),
    import('./routes/index.ts'),
  ]);
  const service = createService({ config, routes });
  let endingSince: number | null = null;

  async function end(code: number, within: number): Promise<void> {
    if (endingSince !== null) return;
    endingSince = performance.now();
    setTimeout(() => process.exit(code), within);
    setTimeout(() => {
      say('Waits for the database to take the last profiles; the signal again ends at once, without them.');
    }, LONG_END).unref();
    try {
      await service.close(within * END_SHARE);
    } catch (error) {
      say(service.describe(error));
    }
    process.exit(code);
  }

  cluster?.onPrimaryGone(() => void end(0, config.drainMs));
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (endingSince === null) void end(0, config.drainMs);
      else if (performance.now() - endingSince > ONE_SIGNAL) {
        say('Ended at once; profiles that were not stored yet are lost.');
        process.exit(1);
      }
    });
  }
  process.on(
    'uncaughtException',
    endsProcess((error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
      // First, because an error must not prevent the shutdown.
      void end(1, AFTER_CRASH);
      say(
        `${origin === 'unhandledRejection' ? 'Unhandled rejection' : 'Uncaught'}: ${service.describe(error)}`,
      );
    }),
  );
  service.server.once('error', (error: NodeJS.ErrnoException) => {
    say(
      error.code === 'EADDRINUSE'
        ? `Port ${config.port} of ${config.host} is in use: end the other process or set PORT.`
        : `Can't listen on ${config.host}:${config.port}: ${error.message}`,
    );
    void end(1, AFTER_CRASH);
  });
  const { port, host } = config;
  service.server.listen({ port, host, backlog: MOST_UNACCEPTED }, () => {
    const origin = service.address();
    // A first look should not meet the 404 of a service without routes.
    if (cluster === null && config.debug) say(`Requests are listed at ${origin}${urls.home()}`);
    if (cluster === null) say(`Listening on ${origin}`);
    service.openDatabase().catch((error: unknown) => {
      say(service.describe(error));
      void end(1, AFTER_CRASH);
    });
  });
}

start().catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error;
  say(error.message);
  process.exitCode = 1;
});
