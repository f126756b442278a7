/** Loaded with the package, before the modules of an application register their routes: their places are known from then on. */
import { isEnabled } from '../config.ts';
import { watchEarlyRegistrations } from '../observe/registrations.ts';

function isWanted(): boolean {
  try {
    return isEnabled(undefined);
  } catch {
    // Whoever creates a profiler is told what is wrong with the setting.
    return false;
  }
}

if (isWanted()) watchEarlyRegistrations();
