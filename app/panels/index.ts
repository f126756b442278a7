/**
 * The ordered list of the built-in panels: the order of the menu. One line per panel; a panel is one name in three
 * rooms (`app/panels`, `views/panels`, `test/panels`). What panels need of the process is given, they ask nobody.
 */
import type { Panel } from '../profiler/panel.ts';
import { browserPanel } from './browser/index.ts';
import { cachePanel } from './cache/index.ts';
import { type ConfigurationFacts, createConfigurationPanel } from './configuration/index.ts';
import { cpuPanel } from './cpu/index.ts';
import { createDatabasePanel, type DatabasePanelOptions } from './database/index.ts';
import { dumpPanel } from './dump/index.ts';
import { createExceptionPanel, type ExceptionPanelOptions } from './exception/index.ts';
import { httpClientPanel } from './http-client/index.ts';
import { jobsPanel } from './jobs/index.ts';
import { logsPanel } from './logs/index.ts';
import { mailPanel } from './mail/index.ts';
import { graphqlPanel } from './graphql/index.ts';
import { processesPanel } from './processes/index.ts';
import { overviewPanel } from './overview/index.ts';
import { requestPanel } from './request/index.ts';
import { createRoutingPanel } from './routing/index.ts';
import { runtimePanel } from './runtime/index.ts';
import { spansPanel } from './spans/index.ts';
import { timelinePanel } from './timeline/index.ts';
import { viewsPanel } from './views/index.ts';

export interface PanelsOptions {
  describe: ExceptionPanelOptions['describe'];
  valuesOf?: ExceptionPanelOptions['valuesOf'];
  configuration: ConfigurationFacts;
  database?: DatabasePanelOptions;
}

export function createPanels({ describe, valuesOf, configuration, database = {} }: PanelsOptions): Panel[] {
  return [
    overviewPanel,
    requestPanel,
    timelinePanel,
    createExceptionPanel({ describe, valuesOf }),
    logsPanel,
    browserPanel,
    createRoutingPanel(),
    graphqlPanel,
    createDatabasePanel(database),
    cachePanel,
    viewsPanel,
    httpClientPanel,
    mailPanel,
    jobsPanel,
    processesPanel,
    spansPanel,
    cpuPanel,
    runtimePanel,
    createConfigurationPanel(configuration),
    dumpPanel,
  ];
}
