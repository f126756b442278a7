/** Runs jobs of bullmq in this process, so that the profiler records them. */
import { createRequire } from 'node:module';
import type * as bullmqPackage from 'bullmq';

const load = createRequire(import.meta.url);
let queues = 0;

export interface PlantedJob {
  name: string;
  data: unknown;
}

/** Adds the jobs, works on them, and resolves when all have ended, however. `redis`: its socket. */
export async function runJobs(
  redis: string,
  jobs: readonly PlantedJob[],
  work: (data: unknown) => unknown,
): Promise<void> {
  const { Queue, Worker } = load('bullmq') as typeof bullmqPackage;
  const connection = { path: redis, maxRetriesPerRequest: null };
  const name = `planted-${++queues}`;
  const queue = new Queue(name, { connection });
  const worker = new Worker(name, async ({ data }) => Promise.resolve(work(data)), { connection });
  try {
    const ended = new Promise<void>((resolve) => {
      let left = jobs.length;
      const count = (): void => {
        if (--left === 0) resolve();
      };
      worker.on('completed', count);
      worker.on('failed', count);
    });
    await queue.addBulk([...jobs]);
    await ended;
  } finally {
    await worker.close();
    await queue.obliterate({ force: true });
    await queue.close();
  }
}
