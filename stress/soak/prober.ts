/**
 * A visitor who is not part of the flood: asks for a page on a new connection each time, at a fixed rate, however long others take. A process
 * of its own, so that neither the clients of the flood nor their bookkeeping delay it.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { fileURLToPath } from 'node:url';

export interface Probed {
  /** Milliseconds from the attempt to connect to the end of each response, since the last call. */
  latencies: number[];
  /** Those that got none, or another one than 200. */
  failed: number;
}

export interface Prober {
  take(): Promise<Probed>;
  stop(): void;
}

const PER_SECOND = 20;

/** Resolves when it has asked once, and so does `take`: a busy machine may have given it no time. */
export async function startProber(port: number): Promise<Prober> {
  const child = fork(fileURLToPath(import.meta.url), [String(port)], { execArgv: ['--import', 'tsx'] });
  async function take(): Promise<Probed> {
    child.send('take');
    const [probed] = (await once(child, 'message')) as [Probed];
    return probed;
  }
  await take();
  return { take, stop: () => void child.kill('SIGKILL') };
}

function probe(port: number): void {
  let probed: Probed = { latencies: [], failed: 0 };
  let isWanted = false;
  function give(): void {
    if (!isWanted || probed.latencies.length + probed.failed === 0) return;
    isWanted = false;
    process.send?.(probed);
    probed = { latencies: [], failed: 0 };
  }
  function ask(): void {
    const askedAt = performance.now();
    const asked = get({ port, host: '127.0.0.1', agent: false }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) probed.latencies.push(performance.now() - askedAt);
        else probed.failed++;
        give();
      });
    });
    asked.once('error', () => {
      probed.failed++;
      give();
    });
  }
  setInterval(ask, 1000 / PER_SECOND);
  process.on('message', () => {
    isWanted = true;
    give();
  });
}

const [, file, port] = process.argv;
if (file === fileURLToPath(import.meta.url)) probe(Number(port));
