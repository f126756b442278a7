/** What all drives of faults have in common. */
import { setTimeout as sleep } from 'node:timers/promises';
import { droppedOf, missingOf, untilStored, uncounted } from '../service/books.ts';
import { flood, type Load, percentile, startLoad } from '../service/load.ts';
import { openScene, type Scene, type SceneOptions } from '../service/scene.ts';
import type { Report } from './outcome.ts';

export interface DriveOptions {
  /** How long a fault lasts. */
  seconds: number;
  /** Requests per second. */
  rate: number;
  /** Of SIGTERM and SIGKILL. */
  rounds: number;
}

export interface Fault {
  /** For `--only`. */
  name: string;
  title: string;
  /** Mounts, memory groups and limits need root. */
  needsRoot?: true;
  drive(options: DriveOptions, report: Report): Promise<void>;
}

/** Milliseconds of load before a fault begins. */
const BEFORE_MS = 500;
const WARM_REQUESTS = 2000;

export async function withScene<T>(options: SceneOptions, work: (scene: Scene) => Promise<T>): Promise<T> {
  const scene = await openScene(options);
  try {
    return await work(scene);
  } finally {
    await scene.close();
  }
}

/** Requests until the process has its usual size. */
export async function warmUp(port: number): Promise<void> {
  let asked = 0;
  await flood({
    port,
    connections: 8,
    next: () => (asked++ < WARM_REQUESTS ? '/nowhere' : null),
    answered: () => undefined,
  });
  await untilStored(port);
}

export function tokensOf({ given }: Load): string[] {
  return given.map(({ token }) => token);
}

/** Runs `fault` while requests go on; `mayFail`: those of the load may. */
export async function underLoad(
  scene: Scene,
  { rate }: DriveOptions,
  fault: () => Promise<unknown>,
): Promise<Load> {
  const load = startLoad({ ports: [scene.port], rate });
  await sleep(BEFORE_MS);
  try {
    await fault();
  } finally {
    await load.end();
  }
  return load;
}

/** The fault is over: everything that was given has to be stored, and the ledger has to add up. */
export async function balance(
  scene: Scene,
  load: Load,
  report: Report,
  { mayFail = false, mayMiss = false }: { mayFail?: boolean; mayMiss?: boolean } = {},
): Promise<void> {
  const { health, ms } = await untilStored(scene.port);
  report.load(load, mayFail);
  report.missing(await missingOf(scene, tokensOf(load), mayMiss), mayMiss);
  report.expect(uncounted(health.application) === 0, `the ledger does not add up: ${JSON.stringify(health)}`);
  report.expect(new Set(tokensOf(load)).size === load.given.length, 'a token was given twice');
  if (droppedOf(health) > 0) report.figure(`${droppedOf(health)} dropped`);
  report.figure(`p99 ${percentile(load.tookMs, 0.99)}`);
  report.figure(`all stored after ${(ms / 1000).toFixed(1)} s`);
}

/** A fault of the database that begins, lasts and ends while requests go on. */
export async function driveDatabase(
  options: DriveOptions,
  report: Report,
  steps: {
    scene?: SceneOptions;
    begin: (scene: Scene) => unknown;
    end: (scene: Scene) => unknown;
    mayMiss?: boolean;
  },
): Promise<void> {
  await withScene(steps.scene ?? {}, async (scene) => {
    const load = await underLoad(scene, options, async () => {
      await steps.begin(scene);
      await sleep(options.seconds * 1000);
      await steps.end(scene);
    });
    await balance(scene, load, report, { mayMiss: steps.mayMiss === true });
  });
}
