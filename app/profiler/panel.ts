/**
 * The contract of a panel: one name in three rooms (`app/panels/<name>.ts`, `views/panels/<name>.ejs`,
 * `test/panels/<name>.test.ts`). A panel reads the facts of one context once and returns plain JSON; it asks nobody.
 */
import type { Context } from './context.ts';
import type { Finding } from './finding.ts';
import type { Profile } from './profile.ts';

/** Values that JSON can hold. Data of a panel is made of these only. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** What the menu, the list and the toolbar show of a panel. */
export interface PanelSummary {
  /** Short text beside the panel's name, such as `314 ms` or `N+1 · 23`. */
  text: string;
  tone: 'plain' | 'warn' | 'bad';
  /** The number that lists sort and filter by: queries, log lines … */
  count?: number;
}

export interface Panel<Data = unknown> {
  /** Lower-case, `[a-z_]+`; also the name of its view. */
  readonly name: string;
  readonly title: string;
  /** Facts -> plain data; null where nothing was recorded. Not masked yet: the recorder masks what it returns. */
  collect(context: Context): Data | null;
  /** Sentences with a place, from this panel's data. May use the index facts of the profile, no other panel. */
  findings?(data: Data, profile: Profile): Finding[];
  summary?(data: Data): PanelSummary | null;
  /**
   * What the panel's view shows, made when a page is asked for: order, filter, groups, colours. The view gets it as
   * `model`, beside `data`. `query` holds the GET parameters as they came: strings, nothing is trusted.
   */
  present?(data: Data, page: PanelPage): object;
}

export interface PanelPage {
  profile: Profile;
  query: Readonly<Record<string, string>>;
}

/** What the profile holds of a panel. `error`: the panel failed, the message says how; `data` is null then. */
export interface PanelRecord {
  data: unknown;
  summary: PanelSummary | null;
  error: string | null;
}
