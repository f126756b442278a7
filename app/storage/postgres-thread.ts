/** The thread that talks to PostgreSQL, so that neither encoding nor a slow database delays requests. Loaded only as a worker. */
import { isDeepStrictEqual } from 'node:util';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { OtlpExporter } from '../export/otlp-exporter.ts';
import { documentsIn } from './copy-csv.ts';
import { provideNavigator } from './navigator.ts';
import type { PgSettings } from './pg-settings.ts';
import { createPool, type Pool } from './pool.ts';
import type { Batch } from './postgres-write.ts';
import type { OperationOptions } from './operation-options.ts';
import { createOperations, type Operations } from './postgres-operations.ts';
import { DONE, FAILED, type FromThread, type Order, type ToThread } from './thread.ts';
import { failureOf } from './unavailable.ts';

/** Milliseconds for what is not exported yet, when the thread is closed and when the process ends. */
const EXPORT_WITHIN_MS = 700;

type Operation = (...given: readonly unknown[]) => Promise<unknown>;

export function serve(port: MessagePort, options: OperationOptions): void {
  const running = new Set<Promise<void>>();
  let current: { settings: PgSettings; pool: Pool; operations: Operations } | null = null;

  const reply = (message: FromThread, transferred: readonly ArrayBuffer[] = []): void => {
    port.postMessage(message, transferred);
  };

  /** Loaded if there is somewhere to export to. */
  async function createExporter(): Promise<OtlpExporter | null> {
    if (options.otlp === undefined) return null;
    const { createOtlpExporter } = await import('../export/otlp-exporter.ts');
    return createOtlpExporter(options.otlp, {
      say: (notice) => reply({ notice }),
      report: (exported) => reply({ exported }),
    });
  }

  const exporter = createExporter();

  /** After a batch was stored, so that nothing is exported twice when a write is repeated. */
  async function exportWritten({ data, ends }: Batch): Promise<void> {
    (await exporter)?.add(documentsIn(data, ends));
  }

  /** With new settings a new pool is created; the old one closes its connections when they are idle. */
  async function operationsAt(settings: PgSettings): Promise<Operations> {
    const { default: pg } = await import('pg');
    if (current === null || !isDeepStrictEqual(current.settings, settings)) {
      const pool = createPool(pg.Pool, settings);
      const operations = createOperations(pool, options, (notice) => reply({ notice }));
      current = { settings, pool, operations };
    }
    return current.operations;
  }

  /** The memory of a batch that was written goes with the reply: a thread collects garbage so rarely that batches would pile up in it. */
  function spentBy(name: Order['name'], given: Order['given']): ArrayBuffer[] {
    // What is exported stays here until it is sent.
    return name === 'write' && options.otlp === undefined ? [(given[0] as Batch).data.buffer] : [];
  }

  async function run({ id, settings, name, given, done }: Order): Promise<void> {
    let ended = DONE;
    try {
      const operations = await operationsAt(settings);
      const result = await (operations[name] as Operation)(...given);
      if (name === 'write') await exportWritten(given[0] as Batch);
      if (name === 'writeLast') {
        await exportWritten(given[1] as Batch);
        await (await exporter)?.close(EXPORT_WITHIN_MS);
      }
      reply({ id, result }, spentBy(name, given));
    } catch (error) {
      ended = FAILED;
      reply({ id, failure: failureOf(error) });
    }
    if (done === undefined) return;
    Atomics.store(done, 0, ended);
    Atomics.notify(done, 0);
  }

  async function close(): Promise<void> {
    await Promise.all(running);
    await Promise.all([current?.pool.end(), exporter.then((it) => it?.close(EXPORT_WITHIN_MS))]);
    port.close();
  }

  port.on('message', (message: ToThread) => {
    if (message === 'close') {
      void close();
      return;
    }
    const work = run(message).finally(() => running.delete(work));
    running.add(work);
  });
}

if (parentPort !== null) {
  provideNavigator();
  serve(parentPort, workerData as OperationOptions);
}
