/** The panel data that rules read; each rule picks its fields. */
import type { DatabaseData } from '../../panels/database/data.ts';
import type { HttpClientData } from '../../panels/http-client/data.ts';
import type { Kept } from '../../panels/shared/panel-data.ts';
import type { EarlierRequest, FindingRule } from '../../profiler/read/finding-rule.ts';

export type { Kept };
export { endOf, type Interval } from '../../panels/shared/rows.ts';

/** What a rule reads: of panels that it needs, and of others that may be there. */
export type Needs<Needed extends keyof Kept, Other extends keyof Kept = never> = Pick<Kept, Needed> &
  Partial<Pick<Kept, Other>>;

export type Rule<Given extends object = Record<string, unknown>> = FindingRule<Given, Partial<Kept>>;
/** Another request: earlier, of another route, or at the same time. */
export type OtherRequest = EarlierRequest<Partial<Kept>>;

export type Database = Kept['database'];
export type Query = DatabaseData['queries'][number];
export type Call = HttpClientData['calls'][number];
