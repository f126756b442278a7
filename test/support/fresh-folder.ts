import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Ends with the run, which deletes all temporary files (run.ts). To be called in hooks and tests only: before, they would be elsewhere. */
export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'hindsight-'));
