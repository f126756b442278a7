/**
 * The contract of a panel: one name in three rooms (`app/panels/<name>/`, `views/panels/<name>.ejs`,
 * `test/panels/<name>.test.ts`). A panel reads the facts of one context once and returns plain JSON; it asks nobody.
 */
import type { Comparable } from './comparable.ts';
import type { Context } from './context.ts';
import type { Finding } from './finding.ts';
import type { Profile, ProfileHead } from './profile.ts';

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

/** A line of what the toolbar shows of a panel: cut, like all its texts, when it is shown. */
export interface PreviewRow {
  text: string;
  /** Behind it, quieter: how long, how often, where. */
  note?: string;
  tone?: PanelSummary['tone'];
  /** Id of the row of the panel's page that it leads to; default: the page itself. */
  row?: string | undefined;
}

/** What the toolbar shows of a panel when one points at it. */
export interface PanelPreview {
  /** In place of the summary; where there is no summary, the panel has no item on the toolbar without it. */
  text?: string;
  tone?: PanelSummary['tone'];
  /** Figures by their names: few. */
  facts?: readonly (readonly [label: string, value: string])[];
  /** The worst or the longest: about five. */
  rows?: readonly PreviewRow[];
  /** How many there are beside `rows`. */
  more?: number;
  /** Where the time of the request went, drawn beside it. */
  parts?: readonly { kind: string; label: string; ms: number }[];
}

/**
 * `Data` is what pages see. `Kept` is what is stored of it; what can be worked out from that is worked out by `derive`
 * when a profile is read, since most profiles never are.
 */
export interface Panel<Data = unknown, Kept = Data> {
  /** Lower-case, `[a-z_]+`; also the name of its view. */
  readonly name: string;
  readonly title: string;
  /** Facts -> plain data; null where nothing was recorded. Not masked yet: the recorder masks what it returns. */
  collect(context: Context): Kept | null;
  /**
   * What many requests have in common, such as a table of routes: stored once, by its content. The same object must be
   * returned while nothing has changed; it must be plain JSON, and nothing of a request.
   */
  shared?(context: Context): object | null;
  /** Kept and shared data -> what pages see. Default: the fields of both. */
  derive?(kept: Kept | null, from: DeriveFrom): Data | null;
  /** Sentences with a place, from this panel's data. May use the fields of the profile itself, no other panel. */
  findings?(kept: Kept, profile: ProfileHead): Finding[];
  /** Made when a profile is read, save that of the panel `database`, whose count is a column. */
  summary?(data: Data): PanelSummary | null;
  /**
   * What the panel's view shows, made when a page is asked for: order, filter, groups, colours. The view gets it as
   * `model`, beside `data`. `query` holds the GET parameters as they came: strings, nothing is trusted.
   * Neither `data` nor the profile may be changed: the next page of the profile is made from the same ones.
   */
  present?(data: Data, page: PanelPage): object;
  /**
   * The panel as Markdown, below a heading of the second level; made when it is asked for. Default: its data as tables.
   * Recorded text goes through app/view-helpers/markdown.ts, which it can't break out of.
   */
  markdown?(data: Data, page: PanelPage): string;
  /** What the toolbar shows of it, made when a toolbar asks. Default: the summary alone. */
  preview?(data: Data, page: PanelPage): PanelPreview;
  /** What two profiles are compared by, made when a comparison is asked for. `amendments` as of a page. */
  comparable?(data: Data, amendments: NonNullable<PanelPage['amendments']>): Comparable;
}

export interface DeriveFrom {
  /** With the kept data of all panels: nothing in it is derived yet. */
  profile: Profile;
  /** What `shared` returned, masked; null where there is none. */
  shared: unknown;
  /** There was something, and it is stored no more. */
  lost: boolean;
  /** The same of another panel. */
  sharedOf: (panel: string) => unknown;
}

export interface PanelPage {
  profile: Profile;
  query: Readonly<Record<string, string>>;
  /** Late facts beside the profile, by name (`plan` of slow statements); absent where the page has none. */
  amendments?: Readonly<Record<string, unknown>>;
}

/** What a profile that was read holds of a panel. `error`: the panel failed, the message says how; `data` is null then. */
export interface PanelRecord {
  data: unknown;
  summary: PanelSummary | null;
  error: string | null;
}
