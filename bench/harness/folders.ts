import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const benchFolder = dirname(dirname(fileURLToPath(import.meta.url)));
export const rootFolder = dirname(benchFolder);
/** Ignored by git. */
export const resultsFolder = join(benchFolder, 'results');
