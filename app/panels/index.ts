/**
 * The ordered list of the built-in panels: the order of the menu. One line per panel; a panel is one name in three
 * rooms (`app/panels`, `views/panels`, `test/panels`). What panels need of the process is given, they ask nobody.
 */
import type { Panel } from '../profiler/panel.ts';
import { type ConfigurationFacts, createConfigurationPanel } from './configuration.ts';
import { createDatabasePanel, type DatabasePanelOptions } from './database.ts';
import { createDumpPanel } from './dump.ts';
import { createExceptionPanel, type ExceptionPanelOptions } from './exception.ts';
import { createHttpClientPanel } from './http-client.ts';
import { createLogsPanel } from './logs.ts';
import { createMigrationsPanel } from './migrations.ts';
import { createRequestPanel } from './request.ts';
import { createRoutingPanel } from './routing.ts';
import { createRuntimePanel } from './runtime.ts';
import { createSecurityPanel } from './security.ts';
import { createTimelinePanel } from './timeline.ts';
import { createViewsPanel } from './views.ts';

export interface PanelsOptions {
  /** Turns what was thrown into plain data with frames and excerpts. */
  describe: ExceptionPanelOptions['describe'];
  configuration: ConfigurationFacts;
  database?: DatabasePanelOptions;
}

export function createPanels({ describe, configuration, database = {} }: PanelsOptions): Panel[] {
  return [
    createRequestPanel(),
    createTimelinePanel(),
    createExceptionPanel({ describe }),
    createLogsPanel(),
    createRoutingPanel(),
    createDatabasePanel(database),
    createMigrationsPanel(),
    createViewsPanel(),
    createHttpClientPanel(),
    createRuntimePanel(),
    createSecurityPanel(),
    createConfigurationPanel(configuration),
    createDumpPanel(),
  ];
}
