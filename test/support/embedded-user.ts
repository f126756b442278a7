/**
 * A process of its own that uses the embedded server of VAR_DIR, for tests that end it by any means: prints `ready` and
 * the server's pid when it can connect, then stays until it is ended. LINGER: seconds the server stays after it.
 */
import { startEmbeddedPostgres } from '../../app/database/embedded-postgres/index.ts';

async function main(): Promise<void> {
  const { LINGER } = process.env;
  const server = await startEmbeddedPostgres({
    varDir: process.env.VAR_DIR ?? '',
    log: console.error,
    ...(LINGER === undefined ? {} : { linger: Number(LINGER) }),
  });
  console.log(`ready ${server.pid} ${server.connection.host}`);
  setInterval(() => undefined, 1000);
}

main().catch((error: unknown) => {
  console.log(`failed ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
