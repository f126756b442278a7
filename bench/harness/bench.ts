/** What a row is given: options, the parts that rows share (each started when first asked for), and processes. */
import { mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProfilerOptions } from '../../app/index.ts';
import { startCollector, type Collector } from './collector.ts';
import { startDatabase, type Database } from './database.ts';
import { benchFolder, resultsFolder } from './folders.ts';
import { DD_TRACE, installPeers, type Variant } from './peers.ts';
import { startProcess, type MeasuredProcess } from './process.ts';

export interface BenchOptions {
  /** A million profiles instead of 100 000. */
  full: boolean;
  /** Profiles of the large store otherwise. */
  stored: number;
  pairs: number;
  sliceMs: number;
  /** Requests before the first slice, per process. */
  warmUp: number;
  /** Go on where a control failed: for working on the benchmark itself. */
  anyway: boolean;
  /** V8 writes a profile of each Hindsight process into the results. */
  cpuProfile: boolean;
}

export interface ServeOptions {
  /** The application with queries. */
  queries?: boolean;
  /** Options of the profiler; default: none. */
  profilerOptions?: Pick<ProfilerOptions, 'fullPerSecond'>;
}

export interface Bench {
  options: BenchOptions;
  log(line: string): void;
  database(): Promise<Database>;
  collector(): Promise<Collector>;
  /** Starts a variant of the application. */
  serve(variant: Variant, options?: ServeOptions): Promise<MeasuredProcess>;
  close(): Promise<void>;
}

export function createBench(options: BenchOptions, log: (line: string) => void): Bench {
  let database: Promise<Database> | null = null;
  let collector: Promise<Collector> | null = null;
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-bench-'));
  const running = new Set<MeasuredProcess>();
  const getDatabase = (): Promise<Database> => (database ??= startDatabase());
  const getCollector = (): Promise<Collector> => (collector ??= startCollector());

  async function environmentOf(variant: Variant, { queries, profilerOptions }: ServeOptions) {
    const env: Record<string, string> = {};
    if (queries === true) env.BENCH_DATABASE = JSON.stringify((await getDatabase()).connection);
    if (variant === 'hindsight') {
      const dir = await mkdtemp(join(folder, 'profiles-'));
      env.BENCH_PROFILER = JSON.stringify({ dir, ...profilerOptions });
    }
    if (variant === 'dd-trace') env.BENCH_COLLECTOR = (await getCollector()).address;
    return env;
  }

  function nodeOptionsOf(variant: Variant): string[] {
    const profile = options.cpuProfile && variant === 'hindsight';
    return [
      ...(variant === 'dd-trace' ? ['--require', DD_TRACE] : []),
      ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${join(resultsFolder, 'cpu')}`] : []),
    ];
  }

  async function serve(variant: Variant, serveOptions: ServeOptions = {}): Promise<MeasuredProcess> {
    if (variant === 'dd-trace') installPeers(log);
    const env = await environmentOf(variant, serveOptions);
    const file = join(benchFolder, 'apps', 'serve.cjs');
    const started = await startProcess({ file, env, nodeOptions: nodeOptionsOf(variant) });
    running.add(started);
    return {
      ...started,
      async stop() {
        running.delete(started);
        await started.stop();
      },
    };
  }

  return {
    options,
    log,
    database: getDatabase,
    collector: getCollector,
    serve,
    async close() {
      for (const server of running) await server.stop();
      (await collector)?.close();
      await (await database)?.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
