/** The two-line entry point: creates a profiler for one application and attaches it. The same as a module of NestJS. */
import { ConfigError, hostEnvironment } from '../config.ts';
import { profilerOf, requireApplication } from './attach.ts';
import { createProfiler } from './create-profiler.ts';
import { createHostLog } from './host-log.ts';
import { createOffProfiler } from './off-profiler.ts';
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
      'this application already has a profiler with other options; pass the options in the first call, or close that profiler.',
    );
  }
  const profiler = createHostProfiler(options);
  profiler.attach(application);
  return profiler;
}

/** A wrong setting does not end the application: its profiler is off then, and says why. */
function createHostProfiler(options: ProfilerOptions): Profiler {
  try {
    return createProfiler({ ...hostEnvironment(options), ...options });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { say } = createHostLog({ print: options.warn, redactText: (text) => text });
    say(`${error.message} Nothing is recorded.`);
    return createOffProfiler({ ...options, enabled: false, warn: say });
  }
}

interface MiddlewareConsumer {
  getHttpAdapter(): { getInstance(): object };
}

export interface NestModule {
  module: new () => object;
}

/**
 * For NestJS, of which it needs no package: `forRoot(options)` goes into `imports` of the application's module; the options are those of
 * `hindsight`. Closing the application closes the profiler.
 */
export const HindsightModule = {
  forRoot(options: ProfilerOptions = {}): NestModule {
    // A class for each call, because NestJS creates the module by itself.
    class HindsightModuleOfApplication {
      #profiler: Profiler | null = null;

      configure(consumer: MiddlewareConsumer): void {
        this.#profiler = hindsight(consumer.getHttpAdapter().getInstance(), options);
      }

      async onApplicationShutdown(): Promise<void> {
        await this.#profiler?.close();
      }
    }
    Object.defineProperty(HindsightModuleOfApplication, 'name', { value: 'HindsightModule' });
    return { module: HindsightModuleOfApplication };
  },
};
