/** The two-line entry point: creates a profiler for one application and attaches it. */
import { ConfigError, hostEnvironment, isEnabled } from '../config.ts';
import { profilerOf, requireApplication } from './attach.ts';
import { createProfiler } from './create-profiler.ts';
import type { Profiler, ProfilerOptions } from './profiler-options.ts';

/**
 * Records each request to `app`, even if routes are registered already, and serves the profiler's pages below `/_profiler`. Options
 * that are not passed are read from the environment (`PROFILER_*`). A second call without options for the same application returns the
 * same profiler.
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
  // A profiler that is off does not end the application for a wrong setting.
  const environment = isEnabled(options.enabled) ? hostEnvironment() : {};
  const profiler = createProfiler({ ...environment, ...options });
  profiler.attach(application);
  return profiler;
}
