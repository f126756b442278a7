/**
 * The contract of a panel: one folder (`app/panels/<name>/`), one line in the list, one test. It reads the record of a request, and
 * shows rows (rows.ts).
 */
import type { Context } from './record/context.ts';
import type { FactName } from './record/facts.ts';
import type { ExplainedFinding, Finding } from './read/finding.ts';
import type { EarlierRequest, RouteAround } from './read/finding-rule.ts';
import type { PanelSummary, Profile, ProfileHead } from './profile.ts';
import type { ProfileIndex } from './store/profile-index.ts';
import type { FactReader } from './record/recorded-facts.ts';
import type { RoutePercentiles } from './store/route-summary.ts';
import type { Presentation, Row } from './read/rows.ts';
import type { SpanDraft, SpanKind } from './read/span.ts';
import type { TimeLedger } from './read/time-ledger.ts';
import type { Steps } from './turns.ts';

/** Shown if a panel recorded nothing. */
export interface EmptyState {
  what: string;
  /** What is watched in this process. */
  why?: string;
  /** What to do about it. */
  todo?: string;
}

/** Its entry in the menu and its item on the toolbar. */
export interface PanelMenu<Data = unknown> {
  /** `process`: about the process rather than the request; listed in a separate group at the end of the menu. */
  readonly group?: 'process';
  /** Not in the menu if nothing was recorded: few applications use the library. Its address shows the empty state all the same. */
  readonly optional?: true;
  /** Key that opens the panel after `g`. */
  readonly key?: string;
  /** On the toolbar, from left to right; default 50. The page's calls have 60. false: no item, because the toolbar shows it in another way. */
  readonly rank?: number | false;
  /** On the toolbar; default: the title in lower case. */
  readonly label?: string;
  /** On the toolbar only if its tone is `warn` or `bad`. */
  readonly onlyWhenWrong?: true;
  /** Default: its first figure, and the worst tone of its rows. */
  summary?(data: Data, profile: Profile): PanelSummary | null;
}

/** What it reads of a request, besides what `collect` returns. */
export interface PanelRecorded<Kept = unknown> {
  /**
   * Kinds of facts, each with a plural noun; the page says how many were not kept. Without `collect`, they are stored as they are, and
   * `data` reads them.
   */
  readonly facts?: Readonly<Record<string, string>>;
  /** Fields of the stored data that the text search looks through, at any depth. */
  readonly searched?: readonly string[];
  /** Shown if there is none. */
  readonly nothing?: EmptyState | ((profile: ProfileHead) => EmptyState);
  /**
   * A value that many requests have in common, such as the table of routes: stored once, by its content. Must return the same
   * object while nothing has changed; plain JSON, without anything of the request.
   */
  shared?(context: Context): object | null;
  /** Its spans on the timeline. `endMs`: the end of the request, or how long it has run. */
  spans?(kept: Kept, from: { profile: ProfileHead; endMs: number }): SpanDraft[];
}

/** Of a panel with a view of its own: a drawing around the same rows (`views/panels/<name>.ejs`). */
export interface PanelView<Data = unknown> {
  /** Kind of its spans; the strip above its page shows the others in grey. */
  readonly kind?: SpanKind;
  /** Its drawing has the requests that this one made. */
  readonly showsCalled?: true;
  /** What the view needs in addition to the rows; it gets it as `model`. Must not change `data` or the profile. */
  model?(data: Data, page: PanelPage): object;
}

/** `Data` is what pages see. `Kept` is what rules and spans read: collected data if the panel collects, else the same. */
export interface Panel<Data = unknown, Kept = Data> {
  /** Lower-case, `[a-z_]+`; also the name of its view, if it has one. */
  readonly name: string;
  readonly title: string;
  /**
   * Called when the request ends: copies what is still live into plain data, which is masked and stored; null if there is none. Facts
   * that are plain need no `collect`: name them in `recorded`.
   */
  collect?(context: Context): Kept | null;
  /** Called when a profile is read: stored facts and data -> what pages see. Default: the fields of collected and shared data. */
  data?(record: RecordReader<Kept>): Data | null;
  /** Everything that the panel shows; default: its data as it is. Must not change `data` or the profile. */
  rows?(data: Data, from: PresentFrom): Presentation;
  /** Long work that `rows` and the view have in common, in steps. Called before them; they remember its result. */
  prepare?(data: Data, from: PresentFrom): Steps<unknown>;
  readonly menu?: PanelMenu<Data>;
  readonly recorded?: PanelRecorded<Kept>;
  readonly view?: PanelView<Data>;
}

/** Kinds of facts that are stored for a panel as they are: those it names, unless it collects. */
export function storedFactsOf({ collect, recorded }: Pick<Panel, 'collect' | 'recorded'>): FactName[] {
  return collect === undefined ? (Object.keys(recorded?.facts ?? {}) as FactName[]) : [];
}

/** Kinds of facts that records have. */
export function storedFacts(panels: readonly Panel[]): FactName[] {
  return [...new Set(panels.flatMap(storedFactsOf))];
}

/** The record of one request, as a panel reads it. */
export interface RecordReader<Kept = unknown> extends FactReader {
  /** What `collect` returned, masked; null if there is none. */
  readonly collected: Kept | null;
  /** With the stored data of all panels: nothing in it is derived yet. */
  readonly profile: Profile;
  /** What `shared` returned, masked; null if there is none. */
  readonly shared: unknown;
  /** Who owned each millisecond, from the spans of all panels. */
  readonly time: TimeLedger;
}

export interface PresentFrom {
  profile: Profile;
  /** Late facts beside the profile, by name: `plan` of slow statements, `timing` of the browser. */
  amendments: Readonly<Record<string, unknown>>;
  /** Recorded requests that this one made, by the id of their row in the panel of outgoing calls; read for `showsCalled`. */
  called?: ReadonlyMap<string, Profile> | undefined;
  /** For the overview; absent for other panels. */
  beside?: BesideProfile | undefined;
}

/** A profile that a request started. */
export interface StartedProfile {
  token: string;
  /** `JOB emails/welcome`, `GET /rates` */
  what: string;
  /** `failed`, `running`, `completed`; of a request its status. */
  outcome: string;
  isFailed: boolean;
  /** Milliseconds from the request's start. */
  startMs: number;
  durationMs: number | null;
  /** The first line of its error. */
  error: string | null;
  place: string | null;
  /** Line that made the worker of a job. */
  worker: string | null;
  /** Of a job: `attempt 1 of 3, returned null, no step, by the worker of src/proofs.ts:5`; null: nothing. */
  ran: string | null;
}

export interface Writer {
  head: ProfileHead;
  /** That is why nothing was found. */
  isDeleted: boolean;
  beforeMs: number;
  place: string | null;
  path: readonly string[] | undefined;
}

/** The last write to a table, by a request before. */
export interface TableWriter {
  table: string;
  head: ProfileHead;
  place: string | null;
  path: readonly string[] | undefined;
}

/** What the overview shows and no panel recorded. */
export interface BesideProfile {
  /** Worst first. */
  findings: readonly ExplainedFinding[];
  /** Names of the rules that had what they read. */
  checked: readonly string[];
  /** Panels of work, with their rows. */
  work: readonly { name: string; title: string; rows: () => readonly Row[] }[];
  /** Profiles that this request started: jobs, events, commands, calls to this application. */
  started: readonly StartedProfile[];
  /** Recorded requests that this one made, by the id of their row in the panel of outgoing calls. */
  called: ReadonlyMap<string, Profile>;
  /** Full records of its route and of others; null: there are none. */
  around: RouteAround | null;
  /** Earlier requests to its route; null if there are too few. */
  usual: { percentiles: RoutePercentiles; /** The newest first. */ recent: readonly ProfileIndex[] } | null;
  /** Requests that ran at the same time, the newest first. */
  overlapping: readonly EarlierRequest[];
  /** Full records before this one, the newest first: one of them may have written what it read, added it or linked to it. */
  before: readonly EarlierRequest[];
  /** Which of them wrote what this one read, by panel and index of the step: `database 3`. */
  writers: ReadonlyMap<string, Writer>;
  /** Of tables that it read, if it is not known who wrote the rows. */
  tableWriters: readonly TableWriter[];
  /** The first failure of each of these, and of the one that added this job. */
  brokenBefore: readonly { head: ProfileHead; finding: Finding }[];
  /** The comparison in the source that led to a refusal, and holds for numbers as texts only; null: none is known. */
  comparedAsText: string | null;
  /** The functions that ran, by the lines of its steps and findings, of its handler, of its middleware and of other profiles. */
  codeOf: (ran: {
    steps: readonly Row[];
    others: readonly Row[];
    handlers: readonly string[];
    reached: string | null;
    middleware: readonly string[];
  }) => Steps<readonly Row[]>;
}

export interface PanelPage extends PresentFrom {
  /** Query parameters as received: strings, unchecked. */
  query: Readonly<Record<string, string>>;
}
