/** The door of NestJS: a module that attaches a profiler to the application that imports it. Needs no package of NestJS. */
import { hindsight } from './hindsight.ts';
import type { Profiler, ProfilerOptions } from './profiler-options.ts';

interface MiddlewareConsumer {
  getHttpAdapter(): { getInstance(): object };
}

export interface NestModule {
  module: new () => object;
}

/** `forRoot(options)` goes into `imports` of the application's module; the options are those of `hindsight`. Closing the application closes the profiler. */
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
