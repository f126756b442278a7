/** All actions of the profiler's pages, by the names in the table of routes. */
import { createActionsController } from './actions-controller.ts';
import { createAssetController } from './asset-controller.ts';
import { createCompareController } from './compare/compare-controller.ts';
import { createFileController } from './file-controller.ts';
import { createHealthController } from './health-controller.ts';
import { createListController } from './list/list-controller.ts';
import { createLiveController } from './list/live-controller.ts';
import { createFormsController } from './forms-controller.ts';
import { createMailController } from './mail-controller.ts';
import { createMcpController } from './mcp/mcp-controller.ts';
import { createProfileController } from './profile-controller.ts';
import type { PageServices } from './page-services.ts';
import { createReplayController } from './replay/replay-controller.ts';
import { createReportAction } from './report-action.ts';
import { createRoutesController } from './routes/routes-controller.ts';
import { createSourceController } from './source-controller.ts';
import { createToolbarController } from './toolbar-controller.ts';

export function createProfilerControllers(services: PageServices) {
  return {
    ...createListController(services),
    ...createProfileController(services),
    ...createFormsController(services),
    ...createFileController(services),
    ...createMailController(services),
    ...createMcpController(services),
    ...createSourceController(services),
    ...createRoutesController(services),
    ...createHealthController(services),
    ...createCompareController(services),
    ...createAssetController(services),
    ...createLiveController(services),
    ...createActionsController(services),
    ...createReplayController(services),
    ...createToolbarController(services),
    ...createReportAction(services),
  } as const;
}

export type ProfilerControllers = ReturnType<typeof createProfilerControllers>;
