#!/usr/bin/env node
/**
 * Starts the service: `npm start`, the Procfile and whoever starts node directly come through here.
 *
 * Source maps stay off: with them each `error.stack` costs 15 instead of 5 microseconds, in the application's own time;
 * the profiler translates the frames that it shows by itself.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { entryOf, StartError } from './entry.js';

/**
 * `require` reads a module at a time in this thread, `import` hands each of them to other threads, which costs a third
 * more. Sources are left to `import`. Several workers: only they need the service, not the process that starts them.
 */
function requireService(server) {
  const alone = !(Number(process.env.WEB_CONCURRENCY) > 1);
  // Node.js 22 has it from 22.12 on.
  if (!alone || !server.endsWith('.js') || !process.features.require_module) return;
  const require = createRequire(import.meta.url);
  require(fileURLToPath(new URL('service.js', server)));
}

try {
  const server = await entryOf('server');
  requireService(server);
  await import(server);
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
