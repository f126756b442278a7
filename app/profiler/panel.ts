/**
 * The contract of a panel: one folder (`app/panels/<name>/`), one line in the list, one test. It reads the record of a request, and
 * shows rows (rows.ts).
 */
import type { Context } from './context.ts';
import type { FactName } from './facts.ts';
import type { ExplainedFinding, Finding } from './finding.ts';
import type { PanelSummary, Profile, ProfileHead } from './profile.ts';
import type { ProfileIndex } from './profile-index.ts';
import type { FactReader } from './recorded-facts.ts';
import type { RoutePercentiles } from './route-summary.ts';
import type { Presentation } from './rows.ts';
import type { SpanDraft, SpanKind } from './span.ts';

/** Shown if a panel recorded nothing. */
export interface EmptyState {
  what: string;
  /** What is watched in this process. */
  why?: string;
  /** What to do about it. */
  todo?: string;
}

/** Its item on the toolbar. */
export interface ToolbarItem {
  /** From left to right; default 50. The page's calls have 60. */
  rank?: number;
  /** Default: the title in lower case. */
  label?: string;
  /** Shown only if its tone is `warn` or `bad`. */
  onlyWhenWrong?: true;
}

/** `Data` is what pages see. `Kept` is what rules and spans read: collected data if the panel collects, else the same. */
export interface Panel<Data = unknown, Kept = Data> {
  /** Lower-case, `[a-z_]+`; also the name of its view, if it has one. */
  readonly name: string;
  readonly title: string;
  /** `process`: about the process rather than the request; listed in a separate group at the end of the menu. */
  readonly group?: 'process';
  /** Not in the menu if nothing was recorded: few applications use the library. Its address shows the empty state all the same. */
  readonly optional?: true;
  /** Key that opens the panel after `g`. */
  readonly key?: string;
  /** Kind of its spans; the strip above its page shows the others in grey. */
  readonly spanKind?: SpanKind;
  /** false: no item, because the toolbar shows it in another way. */
  readonly toolbar?: ToolbarItem | false;
  /** Fields of the stored data that the text search looks through, at any depth. */
  readonly searched?: readonly string[];
  /** Its drawing has the requests that this one made. */
  readonly showsCalled?: true;
  /** The facts it reads, each with a plural noun; the page says how many were not recorded. */
  readonly facts?: Readonly<Record<string, string>>;

  /** Kinds of facts that are stored for it as they are, because they are plain: `data` reads them. */
  readonly reads?: readonly FactName[];
  /**
   * Called when the request ends: copies what is still live into plain data, which is masked and stored; null if there is none. Facts
   * that are plain need no `collect`: name them in `reads`.
   */
  collect?(context: Context): Kept | null;
  /**
   * A value that many requests have in common, such as the table of routes: stored once, by its content. Must return the same
   * object while nothing has changed; plain JSON, without anything of the request.
   */
  shared?(context: Context): object | null;
  /** Called when a profile is read: stored facts and data -> what pages see. Default: the fields of collected and shared data. */
  data?(record: RecordReader<Kept>): Data | null;
  /** Findings from this panel's data. May use the profile's head, but no other panel. */
  findings?(kept: Kept, profile: ProfileHead): Finding[];
  /** Its spans on the timeline. `endMs`: the end of the request, or how long it has run. */
  spans?(kept: Kept, from: { profile: ProfileHead; endMs: number }): SpanDraft[];
  summary?(data: Data): PanelSummary | null;
  /** Shown if nothing was recorded. */
  empty?(profile: ProfileHead): EmptyState;
  /** Everything that the panel shows, as rows; default: its data as it is. Must not change `data` or the profile. */
  present?(data: Data, from: PresentFrom): Presentation;
  /**
   * What the panel's view (`views/panels/<name>.ejs`) needs in addition to the rows: a drawing, filters. The view gets it as
   * `model`. Must not change `data` or the profile.
   */
  draw?(data: Data, page: PanelPage): object;
}

/** Kinds of facts that records have. */
export function storedFacts(panels: readonly Panel[]): FactName[] {
  return [...new Set(panels.flatMap(({ reads = [] }) => reads))];
}

/** The record of one request, as a panel reads it. */
export interface RecordReader<Kept = unknown> extends FactReader {
  /** What `collect` returned, masked; null if there is none. */
  readonly collected: Kept | null;
  /** With the stored data of all panels: nothing in it is derived yet. */
  readonly profile: Profile;
  /** What `shared` returned, masked; null if there is none. */
  readonly shared: unknown;
  /** The spans of all panels. */
  spans(endMs: number): SpanDraft[];
}

export interface PresentFrom {
  profile: Profile;
  /** Late facts beside the profile, by name: `plan` of slow statements, `timing` of the browser. */
  amendments: Readonly<Record<string, unknown>>;
  /** For the overview; absent for other panels. */
  beside?: BesideProfile | undefined;
}

/** What the overview shows and no panel recorded. */
export interface BesideProfile {
  /** Worst first. */
  findings: readonly ExplainedFinding[];
  /** Number of rules that had what they read. */
  rulesChecked: number;
  /** Earlier requests to its route; null if there are too few. */
  usual: { percentiles: RoutePercentiles; /** The newest first. */ recent: readonly ProfileIndex[] } | null;
}

export interface PanelPage extends PresentFrom {
  /** Recorded requests that this one made, by the id of their row in the panel of outgoing calls; read for `showsCalled`. */
  called?: ReadonlyMap<string, Profile> | undefined;
  /** Query parameters as received: strings, unchecked. */
  query: Readonly<Record<string, string>>;
}
