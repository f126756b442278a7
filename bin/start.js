#!/usr/bin/env node
/** Starts the service: `npm start`, the Procfile and whoever starts node directly come through here. */
import { entryOf, StartError } from './entry.js';

try {
  await import(await entryOf('server'));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
