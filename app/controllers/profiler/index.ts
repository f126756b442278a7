/** All controllers of the profiler's pages, by the names that the table of routes uses. */
import { createAssetController } from './asset-controller.ts';
import { createListController } from './list-controller.ts';
import type { PageServices } from './page-services.ts';
import { createProfileController } from './profile-controller.ts';

export function createProfilerControllers(services: PageServices) {
  return {
    ...createListController(services),
    ...createProfileController(services),
    ...createAssetController(services),
  } as const;
}

export type ProfilerControllers = ReturnType<typeof createProfilerControllers>;
