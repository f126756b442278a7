#!/usr/bin/env node
/** Migrates the database: the Procfile's `release` process, and `npm run release`. */
import { entryOf, say, StartError } from './entry.js';

try {
  const { migrate } = await import(await entryOf('migrate'));
  process.exitCode = await migrate();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
