/**
 * The contract of a panel: one folder (`app/panels/<name>/`), one line in the list, one test. It reads the facts of a
 * request once, returns plain JSON, and asks nobody; what it shows are rows (rows.ts).
 */
import type { Context } from './context.ts';
import type { Finding } from './finding.ts';
import type { PanelSummary, Profile, ProfileHead } from './profile.ts';
import type { Presentation } from './rows.ts';
import type { SpanDraft, SpanKind } from './span.ts';

/** What stands in place of a panel that recorded nothing. */
export interface EmptyState {
  what: string;
  /** What is watched in this process. */
  why?: string;
  /** What to do about it. */
  todo?: string;
}

/** Its item on the toolbar. */
export interface ToolbarItem {
  /** From left to right; default 50. The calls of the page stand at 60. */
  rank?: number;
  /** Default: the title in small letters. */
  label?: string;
  /** Only where its tone is `warn` or `bad`. */
  onlyWhenWrong?: true;
}

/**
 * `Kept` is what is stored. `Data` is what pages see, worked out from it by `derive` when a profile is read, since most
 * profiles never are.
 */
export interface Panel<Data = unknown, Kept = Data> {
  /** Lower-case, `[a-z_]+`; also the name of its view, where it has one. */
  readonly name: string;
  readonly title: string;
  /** `process`: about the process rather than the request; a group of its own at the end of the menu. */
  readonly group?: 'process';
  /** Pressed after `g`, it opens the panel. */
  readonly key?: string;
  /** Kind of its spans, which the strip above its page keeps in colour. */
  readonly spanKind?: SpanKind;
  /** false: no item, because the toolbar says it in another way. */
  readonly toolbar?: ToolbarItem | false;
  /** Fields of the kept data that hold words of the application: the text search looks through these, at any depth. */
  readonly searched?: readonly string[];
  /** The facts it reads, each with a plural noun; the page says how many were not kept. */
  readonly facts?: Readonly<Record<string, string>>;

  /** Facts -> plain data; null where nothing was recorded. The recorder masks what it returns. */
  collect(context: Context): Kept | null;
  /**
   * What many requests have in common, such as the table of routes: stored once, by its content. Must return the same
   * object while nothing has changed; plain JSON, and nothing of the request.
   */
  shared?(context: Context): object | null;
  /** Kept and shared data -> what pages see. Default: the fields of both. */
  derive?(kept: Kept | null, from: DeriveFrom): Data | null;
  /** Sentences with a place, from this panel's data. May use the fields of the profile itself, no other panel. */
  findings?(kept: Kept, profile: ProfileHead): Finding[];
  /** What of it has a place on the time axis. `endMs`: the end of what is known of the request. */
  spans?(kept: Kept, from: { profile: ProfileHead; endMs: number }): SpanDraft[];
  /** Made when a profile is read, except that of the panel `database`, whose count is a column of the list. */
  summary?(data: Data): PanelSummary | null;
  /** Said where nothing was recorded. */
  empty?(profile: ProfileHead): EmptyState;
  /** All that the panel shows, as rows; default: its data as they come. Must not change `data` or the profile. */
  present?(data: Data, from: PresentFrom): Presentation;
  /**
   * What a view of its own (`views/panels/<name>.ejs`) needs beside the rows: a drawing, filters. The view gets it as
   * `model`. Must not change `data` or the profile.
   */
  draw?(data: Data, page: PanelPage): object;
}

export interface DeriveFrom {
  /** With the kept data of all panels: nothing in it is derived yet. */
  profile: Profile;
  /** What `shared` returned, masked; null where there is none. */
  shared: unknown;
  /** There was something shared, and it is no longer stored. */
  lost: boolean;
  /** The same of another panel. */
  sharedOf: (panel: string) => unknown;
  /** The spans of all panels. */
  spans: (endMs: number) => SpanDraft[];
}

export interface PresentFrom {
  profile: Profile;
  /** Late facts beside the profile, by name: `plan` of slow statements, `timing` of the browser. */
  amendments: Readonly<Record<string, unknown>>;
}

export interface PanelPage extends PresentFrom {
  /** GET parameters as they came: strings, unchecked. */
  query: Readonly<Record<string, string>>;
}
