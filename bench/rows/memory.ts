/**
 * Memory with the storage stalled (its table is locked by another session) at saturation, over a bare process under the
 * same load; afterwards the lock is gone and what waited is stored.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure } from '../harness/figure.ts';
import { closedLoop } from '../harness/load.ts';
import type { MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';

const STALL_MS = 30_000;
const BARE_MS = 10_000;
const SAMPLE_MS = 200;
const MEGABYTE = 1024 * 1024;

interface Counters {
  written: number;
  pending: number;
  pendingBytes: number;
  dropped: Record<string, number>;
}

/** Highest resident memory while the process is loaded, in bytes. */
async function peakUnderLoad(
  server: MeasuredProcess,
  ms: number,
): Promise<{ peak: number; requests: number }> {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, server.memory())), SAMPLE_MS);
  const load = await closedLoop({ port: server.port, path: '/' }, { ms });
  clearInterval(timer);
  return { peak, requests: load.requests };
}

export const memory: Row = {
  name: 'memory',
  what: `memory with the storage stalled for ${STALL_MS / 1000} s at saturation`,
  async run(bench): Promise<Figure[]> {
    const database = await bench.database();
    const profiles = await database.freshSchema();
    const bare = await bench.serve('bare');
    const base = await peakUnderLoad(bare, BARE_MS);
    await bare.stop();
    const server = await bench.serve('hindsight', { profiles });
    await closedLoop({ port: server.port, path: '/' }, { requests: bench.options.warmUp });
    const lock = await database.knex.transaction();
    await lock.raw('lock table ??.hindsight_profiles in access exclusive mode', [profiles.schema]);
    const stalled = await peakUnderLoad(server, STALL_MS);
    const during = (await server.ask('counters')) as Counters;
    await lock.rollback();
    await sleep(3000);
    const after = (await server.ask('counters')) as Counters;
    await server.stop();
    const dropped = Object.values(during.dropped).reduce((sum, count) => sum + count, 0);
    return [
      {
        goal: 11,
        what: 'memory over bare, storage stalled',
        value: (stalled.peak - base.peak) / MEGABYTE,
        unit: 'MB',
        must: 64,
        aim: 40,
      },
      { goal: null, what: '  bare, at its peak', value: base.peak / MEGABYTE, unit: 'MB' },
      { goal: null, what: '  held in the queue', value: during.pendingBytes / MEGABYTE, unit: 'MB' },
      { goal: null, what: `  dropped and counted, of ${stalled.requests}`, value: dropped, unit: 'profiles' },
      { goal: null, what: '  waiting 3 s after the lock is gone', value: after.pending, unit: 'profiles' },
    ];
  },
};
