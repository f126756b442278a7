/**
 * `npm run stress -- fuzz [--seed=1 --requests=1000000]`: mutated requests to the built service, each on a socket of its own. What goes wrong is
 * printed, kept in test/support/fuzz-found.json, and ends the run with 1. The same seed sends the same requests.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createRandom, keepFound, mutate, problemOf } from '../test/support/fuzz.ts';
import { freshVarDir } from '../test/support/postgres.ts';
import { exchange, head } from '../test/support/raw-http.ts';
import { startService } from '../test/support/service-process.ts';

/** Connections at once. */
const AT_ONCE = 16;
const LIMIT_MS = 10_000;
const SAY_EVERY = 50_000;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, requests: { type: 'string', default: '1000000' } },
});

export async function main(): Promise<void> {
  const varDir = freshVarDir();
  const service = await startService({ VAR_DIR: varDir });
  const port = Number(new URL(service.origin).port);
  const random = createRandom(Number(values.seed));
  const count = Number(values.requests);
  const statuses = new Map<number, number>();
  const found: string[] = [];
  let sent = 0;

  async function sendOne(request: string, localAddress: string): Promise<void> {
    let problem: string | null;
    try {
      const sending = { limitMs: LIMIT_MS, localAddress };
      const ended = await exchange(port, [request], { ...sending, halfClose: true });
      // Node.js ends the socket of a client that has ended its side while a handler waits, so such a request is sent as a whole again.
      const isLost = ended.responses.length === 0 && !ended.timedOut;
      const result = isLost ? await exchange(port, [request], { ...sending, count: 1 }) : ended;
      for (const { status } of result.responses) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      problem = result.responses.length === 0 ? 'no response' : problemOf(result);
    } catch (error) {
      problem = String(error);
    }
    if (problem === null) return;
    found.push(request);
    console.log(`${problem}: ${JSON.stringify(request)}`);
  }

  try {
    await (await fetch(service.origin)).text();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        while (sent < count && service.child.exitCode === null) {
          if (++sent % SAY_EVERY === 0) console.log(`${sent} requests, ${found.length} found`);
          await sendOne(mutate(random), `127.0.1.${index + 1}`);
        }
      }),
    );
    const { responses } = await exchange(port, [head('GET /')], { count: 1 });
    const isAlive = service.child.exitCode === null && responses[0]?.status === 404;
    const seen = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times} × ${status}`);
    console.log(`Seed ${values.seed}, ${sent} requests: ${seen.join(', ')}. Found: ${found.length}.`);
    if (!isAlive) console.log(`The service no longer responds: ${service.said().slice(-2000)}`);
    if (found.length > 0) keepFound(found);
    if (found.length > 0 || !isAlive) process.exitCode = 1;
  } finally {
    await service.ended('SIGTERM');
    rmSync(varDir, { recursive: true, force: true });
  }
}
