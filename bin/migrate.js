#!/usr/bin/env node
/** Migrates the database: the Procfile's `release` process, and `npm run release`. */
import { entryOf, StartError } from './entry.js';

try {
  const { migrate } = await import(await entryOf('migrate'));
  process.exitCode = await migrate();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
