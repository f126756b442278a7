/** Stored and derived data of panels, by name: how panels, findings and files read each other’s data. */
import type { KeptCpu } from '../../profiler/record/cpu-samples.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { BrowserData } from '../browser/index.ts';
import type { CacheData } from '../cache/data.ts';
import type { ConfigurationData } from '../configuration/data.ts';
import type { DatabaseData, KeptDatabase } from '../database/data.ts';
import type { ExceptionData } from '../exception/data.ts';
import type { GraphqlData } from '../graphql/index.ts';
import type { HttpClientData } from '../http-client/data.ts';
import type { JobsData } from '../jobs/index.ts';
import type { LogsData } from '../logs/data.ts';
import type { MailData } from '../mail/index.ts';
import type { KeptRequest, RequestPanelData } from '../request/data.ts';
import type { KeptRouting, RoutingData } from '../routing/data.ts';
import type { KeptRuntime, RuntimeData } from '../runtime/data.ts';
import type { SpansData } from '../spans/index.ts';
import type { ViewsData } from '../views/data.ts';
import type { TimelineData } from './timeline-data.ts';

interface LogLine {
  level: 'error' | 'warn' | 'info' | 'debug';
  message: string;
  caller?: string | null;
  atMs: number;
}

/** As stored. */
export interface Kept {
  browser: BrowserData;
  request: KeptRequest;
  exception: ExceptionData;
  cache: CacheData;
  cpu: KeptCpu;
  database: KeptDatabase;
  graphql: GraphqlData;
  http_client: HttpClientData;
  jobs: JobsData;
  mail: MailData;
  logs: { lines: readonly LogLine[]; unkept?: LogsData['unkept'] };
  routing: KeptRouting;
  runtime: KeptRuntime;
  spans: SpansData;
  views: ViewsData;
}

/** As pages have it. */
interface Shown {
  request: RequestPanelData;
  cache: CacheData;
  configuration: ConfigurationData;
  cpu: KeptCpu;
  exception: ExceptionData;
  database: DatabaseData;
  http_client: HttpClientData;
  jobs: JobsData;
  mail: MailData;
  logs: LogsData;
  routing: RoutingData;
  runtime: RuntimeData;
  spans: SpansData;
  timeline: TimelineData;
  views: ViewsData;
}

export function dataOf<Name extends keyof Shown>(
  { panels }: Pick<Profile, 'panels'>,
  name: Name,
): Shown[Name] | null {
  return (panels[name]?.data ?? null) as Shown[Name] | null;
}
