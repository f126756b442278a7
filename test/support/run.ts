/**
 * What a run of mocha starts at most once: its main process starts a part when the first test file asks for it (shared-part.ts), and
 * stops them all at the end. Files run in several processes, so they ask over a socket.
 */
import { once } from 'node:events';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Part, PartName } from './shared-part.ts';

/** Imported when needed: a run of a single file rarely needs one. */
const STARTERS: Record<PartName, () => Promise<Part>> = {
  build: async () => (await import('./build.ts')).makeBuild(),
  chromium: async () => (await import('./browser.ts')).startChromium(),
  postgresCluster: async () => (await import('./postgres.ts')).makePostgresCluster(),
  postgres: async () => (await import('./postgres.ts')).startSharedPostgres(),
  embeddedCluster: async () => (await import('./postgres.ts')).makeEmbeddedCluster(),
  embeddedPostgres: async () => (await import('./postgres.ts')).startSharedEmbedded(),
  postgresPrograms: async () => (await import('./postgres.ts')).findPostgresPrograms(),
  redis: async () => (await import('./redis.ts')).startRedis(),
};

/** Many times what a whole run has there at once. */
const ROOM_BYTES = 8 * 2 ** 30;

const started = new Map<PartName, Promise<Part>>();
/** Absent in a process that a run started, a benchmark for instance: it uses the parts of that run. */
let server: Server | undefined;
let folder: string;

function part(name: PartName): Promise<Part> {
  const running = started.get(name) ?? STARTERS[name]();
  started.set(name, running);
  return running;
}

/** The name comes in, one line of JSON goes out. */
function answer(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.once('data', (name: Buffer) => {
    part(name.toString() as PartName).then(
      ({ value }) => socket.end(JSON.stringify({ value })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    );
  });
}

/** Memory where there is room: hundreds of databases, and copies of whole clusters, take a third of the CPU there that they take on a disk. */
function memoryFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= ROOM_BYTES ? memory : tmpdir();
}

export function mochaGlobalSetup(): Promise<void> {
  return offerParts(memoryFolder());
}

/** `parent`: where the folder for all temporary files is made. */
export async function offerParts(parent = tmpdir()): Promise<void> {
  if (process.env.HINDSIGHT_TEST_PARTS !== undefined) return;
  process.once('SIGTERM', () => void mochaGlobalTeardown().then(() => process.exit(143)));
  folder = mkdtempSync(join(parent, 'ht-'));
  // As open as /tmp: PostgreSQL runs as another user where the tests run as root.
  chmodSync(folder, 0o1777);
  // What tsx has compiled stays there: else each process would compile all sources in each run.
  const compiled = `tsx-${process.geteuid?.()}`;
  symlinkSync(join(tmpdir(), compiled), join(folder, compiled));
  process.env.TMPDIR = folder;
  // A busy machine blocks the event loop of any request, and the next one would be sampled. Tests of that say so themselves.
  process.env.PROFILER_CPU ??= 'ask';
  // Hosts of the tests share nothing.
  process.env.PROFILER_DIR ??= '';
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env.HINDSIGHT_TEST_PARTS = String((server.address() as AddressInfo).port);
}

export async function mochaGlobalTeardown(): Promise<void> {
  if (server === undefined) return;
  server.close();
  for (const running of started.values()) await running.then(({ stop }) => stop?.()).catch(() => undefined);
  // Not by Node.js alone, which takes twice as long for ten thousand files of PostgreSQL.
  spawnSync('rm', ['-rf', folder], { stdio: 'ignore' });
  // What a server that was just ending still wrote meanwhile.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
