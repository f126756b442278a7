/** The door of two lines: a profiler for one application, mounted in front of all of it. */
import { ConfigError, hostEnvironment } from '../config.ts';
import { profilerOf, requireApplication } from './attach.ts';
import { createProfiler } from './create-profiler.ts';
import type { Profiler, ProfilerOptions } from './profiler-options.ts';

/**
 * Records each request to `app`, also where it is called after routes were registered, and serves the profiler's pages below
 * `/_profiler`. Options that are not given are read from the environment (`PROFILER_*`). Called again for the same application, it
 * returns the same profiler.
 */
export function hindsight(app: object, options: ProfilerOptions = {}): Profiler {
  const application = requireApplication(app);
  const before = profilerOf(application);
  if (before !== null) {
    if (Object.keys(options).length === 0) return before;
    throw new ConfigError(
      'hindsight:',
      'this application has a profiler already, with other options; pass them in the first call, or close that profiler.',
    );
  }
  const profiler = createProfiler({ ...hostEnvironment(), ...options });
  profiler.attach(application);
  return profiler;
}
