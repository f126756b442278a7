/**
 * A process of its own that uses the embedded server of VAR_DIR, for tests that end it by any means: prints `ready` and
 * the server's pid when it can connect, then stays until it is ended. LINGER: seconds the server stays after it.
 */
import { startEmbeddedPostgres } from '../../dist/app/service/database/embedded-postgres/index.js';

const { LINGER, VAR_DIR } = process.env;
try {
  const server = await startEmbeddedPostgres({
    varDir: VAR_DIR,
    log: console.error,
    ...(LINGER === undefined ? {} : { linger: Number(LINGER) }),
  });
  console.log(`ready ${server.pid} ${server.connection.host}`);
  setInterval(() => undefined, 1000);
} catch (error) {
  console.log(`failed ${error.message}`);
  process.exitCode = 1;
}
