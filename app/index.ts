/** The entry point of the package: the middleware of an application, and the types for panels and stores of your own. */
import { createProfiler as create } from './compose/create-profiler.ts';
import type { Profiler, ProfilerOptions } from './compose/profiler-options.ts';
import { hostEnvironment, isEnabled } from './config.ts';
import { watchEarlyRegistrations } from './observe/layers/registrations.ts';

export { hindsight, hindsight as default, HindsightModule } from './compose/hindsight.ts';
export { type ApolloPlugin, apolloPlugin } from './observe/channels/graphql.ts';
export type { Profiler, ProfilerOptions } from './compose/profiler-options.ts';
export { type HostMigrationOptions, runProfilerMigrations } from './compose/run-profiler-migrations.ts';
export { createPostgresStorage, type HostStorageOptions } from './compose/create-postgres-storage.ts';
export type { Comparable } from './profiler/read/comparable.ts';
export type { Context } from './profiler/record/context.ts';
export type * from './profiler/record/facts.ts';
export type { Finding, FixCode, Severity } from './profiler/read/finding.ts';
export type { FindingRule } from './profiler/read/finding-rule.ts';
export type { Panel, PanelPage } from './profiler/panel.ts';
export type { Json } from './profiler/json.ts';
export type { PanelRecord, PanelSummary } from './profiler/profile.ts';
export type { Profile } from './profiler/profile.ts';
export type { ProfileIndex } from './profiler/store/profile-index.ts';
export type { RouteSummaries, SummaryQuery } from './profiler/store/route-summary.ts';
export type { FindResult, ProfileQuery } from './profiler/store/storage.ts';
export type {
  FindText,
  Row,
  RowLabels,
  Store,
  StoredRecord,
  StoreItem,
  StoreLimits,
  StoreState,
} from './profiler/store/store.ts';

/** One profiler for several applications, or mounted by hand: docs/getting-started.md. */
export function createProfiler(options: ProfilerOptions = {}): Profiler {
  return create({ ...hostEnvironment(options), ...options });
}

function isWanted(): boolean {
  try {
    return isEnabled(undefined);
  } catch {
    // Whoever creates a profiler is told what is wrong with the setting.
    return false;
  }
}

// Before the modules of an application register their routes: their places are known from then on.
if (isWanted()) watchEarlyRegistrations();
