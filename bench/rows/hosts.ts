/**
 * What recording costs in applications that nobody here wrote, attached by `node --import express-hindsight/register` with default
 * settings, against the same application without it and with dd-trace, in turns.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { benchFolder, rootFolder } from '../harness/folders.ts';
import { compareInTurns, ratioOf, type Slice } from '../harness/pairs.ts';
import { DD_TRACE, installPeers, type Variant } from '../harness/peers.ts';
import { type MeasuredProcess, startProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

interface Host {
  name: string;
  path: string;
  hasDatabase?: boolean;
}

const FOLDER = join(benchFolder, 'hosts');
const HOSTS: readonly Host[] = [
  { name: 'nest', path: '/cats/1' },
  { name: 'json-server', path: '/posts/1' },
  { name: 'node-red', path: '/red/settings' },
  { name: 'unleash', path: '/api/admin/projects', hasDatabase: true },
];
const VARIANTS: readonly Variant[] = ['bare', 'hindsight', 'dd-trace'];
/** Unleash runs hundreds of migrations at its first start: 18 s on a busy machine. */
const START_WITHIN = 120_000;
const cpuOf = ({ cpuAll }: Slice): number => cpuAll;

function install(log: (line: string) => void): void {
  if (existsSync(join(FOLDER, 'node_modules', '.package-lock.json'))) return;
  log('Installing the applications into bench/hosts …');
  execFileSync('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function serve(bench: Bench, host: Host, variant: Variant): Promise<MeasuredProcess> {
  const register = pathToFileURL(join(rootFolder, 'dist', 'cjs', 'register.js')).href;
  const nodeOptions = {
    bare: [],
    hindsight: ['--import', register],
    'dd-trace': ['--require', DD_TRACE],
  }[variant];
  const env: Record<string, string> = { PROFILER: 'on', HOME: process.env.HOME ?? '/' };
  if (variant === 'dd-trace') env.BENCH_COLLECTOR = (await bench.collector()).address;
  if (host.hasDatabase === true) env.BENCH_DATABASE = JSON.stringify((await bench.database()).connection);
  return startProcess({
    file: join(FOLDER, `${host.name}.cjs`),
    nodeOptions,
    env,
    readyPath: host.path,
    startWithinMs: START_WITHIN,
  });
}

/** CPU of each variant against bare. */
async function measure(bench: Bench, host: Host): Promise<Figure[]> {
  const running: MeasuredProcess[] = [];
  try {
    for (const variant of VARIANTS) running.push(await serve(bench, host, variant));
    const [base, ...others] = running as [MeasuredProcess, ...MeasuredProcess[]];
    const { pairs, sliceMs, warmUp } = bench.options;
    const found = await compareInTurns(base, others, { path: host.path, pairs, sliceMs, warmUp });
    return VARIANTS.slice(1).map((variant, index) => ({
      what: `${host.name}: ${variant}, CPU`,
      unit: 'x bare',
      spread: ratioOf(found[index] ?? [], cpuOf),
    }));
  } finally {
    for (const server of running) await server.stop();
  }
}

export const hosts: Row = {
  name: 'hosts',
  what: 'CPU in four applications from npm, against bare and dd-trace',
  async run(bench) {
    const log = (line: string): void => {
      bench.log(line);
    };
    install(log);
    installPeers(log);
    const figures: Figure[] = [];
    for (const host of HOSTS) {
      bench.log(`  ${host.name}`);
      try {
        figures.push(...(await measure(bench, host)));
      } catch (error) {
        bench.log(`  ${host.name}: ${String(error)}`);
      }
    }
    const ratios = figures
      .filter(({ what }) => what.includes('hindsight'))
      .map(({ spread }) => spread.median);
    return [...figures, { what: 'hindsight, all of them', unit: 'x bare', spread: spreadOf(ratios) }];
  },
};
