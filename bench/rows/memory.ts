/** Resident memory after a minute at saturation, and ten seconds later, over a bare process under the same load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness/bench.ts';
import { closedLoop } from '../harness/load.ts';
import type { Variant } from '../harness/peers.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

const LOAD_MS = 60_000;
const IDLE_MS = 10_000;
const MEGABYTE = 1024 * 1024;

async function memoryOf(bench: Bench, variant: Variant): Promise<{ loaded: number; idle: number }> {
  const server = await bench.serve(variant);
  try {
    await closedLoop({ port: server.port, path: '/' }, { ms: LOAD_MS });
    const loaded = server.memory();
    await sleep(IDLE_MS);
    return { loaded, idle: server.memory() };
  } finally {
    await server.stop();
  }
}

export const memory: Row = {
  name: 'memory',
  what: 'memory after a minute at saturation, over bare',
  async run(bench) {
    const bare = await memoryOf(bench, 'bare');
    const added = async (variant: Variant): Promise<{ loaded: number; idle: number }> => {
      const { loaded, idle } = await memoryOf(bench, variant);
      return { loaded: (loaded - bare.loaded) / MEGABYTE, idle: (idle - bare.idle) / MEGABYTE };
    };
    const [hindsight, datadog] = [await added('hindsight'), await added('dd-trace')];
    const figure = (what: string, value: number) => ({ what, unit: 'MB', spread: spreadOf([value]) });
    return [
      figure('(c): hindsight, memory added at saturation', hindsight.loaded),
      figure('(c): hindsight, memory added ten seconds later', hindsight.idle),
      figure('(c): dd-trace, memory added at saturation', datadog.loaded),
      figure('(c): dd-trace, memory added ten seconds later', datadog.idle),
      figure('(c): bare, memory at saturation', bare.loaded / MEGABYTE),
    ];
  },
};
