/** The options of `createProfiler`, and its result. */
import type { ErrorRequestHandler } from 'express';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { hostSettings, type ProfilerSettings, profilerSettings } from '../config/settings.ts';
import type { RespondWithError } from '../middleware/cut-off.ts';
import type { RefusalOptions } from '../middleware/refuse.ts';
import type { RequestSource } from '../middleware/request-fact.ts';
import type { Watch } from '../middleware/watch.ts';
import type { Dump } from '../observe/logs/dump.ts';
import type { CompilingEngine, RenderingApp } from '../observe/views.ts';
import type { FoundLibrary } from '../observe/libraries.ts';
import type { Manual } from '../observe/manual.ts';
import type { RouterLibrary } from '../observe/layers/registrations.ts';
import type { WinstonLibrary } from '../observe/logs/winston.ts';
import type { Context } from '../profiler/record/context.ts';
import { editDistance } from '../profiler/edit-distance.ts';
import type { FindingRule } from '../profiler/read/finding-rule.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import type { Panel } from '../profiler/panel.ts';
import type { Profiles } from '../profiler/read/profiles.ts';
import type { Redactor } from '../profiler/masking/redact.ts';
import type { LedgerCounts } from '../profiler/record/ledger.ts';
import type { Store } from '../profiler/store/store.ts';

/** Includes the profiler's settings: app/config/settings.ts, and the README's table. */
export interface ProfilerOptions extends Partial<ProfilerSettings> {
  /** Whether anything is recorded. Default: the variable `PROFILER` (`on` or `off`), else on unless `NODE_ENV` is `production`. */
  enabled?: boolean;
  /** PostgreSQL to store profiles in, instead of `storage`. Tables are created in its schema `hindsight`. Needs the package `pg`. */
  databaseUrl?: string | null;
  /** Where profiles are stored; default: files that all processes of the application share (`dir`). */
  storage?: Store;
  /** Your own panels, shown after the built-in ones. */
  panels?: readonly Panel[];
  /** Your own rules for findings, applied after the built-in ones. */
  findings?: readonly FindingRule[];
  /** Secret values by the name of their setting: masked wherever they occur. */
  secrets?: Readonly<Record<string, string>>;
  /** Words that make a field, header or parameter secret, in addition to the built-in ones. */
  secretNames?: readonly string[];
  /** Folder of the application's own code; default: the working directory. */
  root?: string;
  /** Who may see the pages and full error pages; called if there is no password. Everything but true, within 2 s, refuses. */
  authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /** Called once per request, inside its context, to add facts to it. */
  onRequest?: readonly ((context: Context) => void)[];
  /** Observed libraries (docs/libraries.md): all that are found, none, or only these. Default: all. */
  observe?: boolean | readonly string[];
  /** Receives the profiler's own warnings; default: stderr. */
  warn?: (sentence: string) => void;
}

/** What the service gives besides; a host has the defaults. */
export interface ServiceOptions extends ProfilerOptions {
  /** Masks what is recorded; default: made of `secrets` and `secretNames`. */
  redactor?: Redactor;
  /** Name of this process; default: host name and pid. */
  process?: string;
  /** Shows what another process has stored; nothing is sent to any application. */
  isStored?: true;
  /** Settings shown in the configuration panel; masked like everything else. */
  settings?: Readonly<Record<string, unknown>>;
  /** The Routing panel lists all routes for each request; default: if none of them handled it. */
  describesAllRoutes?: boolean;
  /** Where a request came from; default: what the host's Express says. */
  sourceOf?: (req: IncomingMessage) => RequestSource;
  /**
   * Serves the pages for any host behind a trusted proxy. Only where no name is set up: a page whose DNS record was changed to this server may
   * send a proxy's headers, too.
   */
  anyHostBehindProxy?: boolean;
  /** `express.Router`. Needed to show where layers were registered before the profiler has seen the application. */
  Router?: RouterLibrary;
}

export interface Profiler extends Manual {
  /** False: nothing is recorded, and every function passes on. */
  isOn: boolean;
  /** Runs `watch` and `pages` before everything else in an Express application; returns the function that undoes it. `hindsight(app)` calls it. */
  attach(app: object): () => void;
  watch: Watch;
  /** `(req, res, next)`: responds to everything below `/_profiler`. */
  pages: (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;
  /** `(error, req, res, next)`: the error page. */
  errors: ErrorRequestHandler;
  /** `(req, res, next)`, after all routes: the 404 page, which names the closest routes. */
  notFound: (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;
  /** Responds to an error found outside the middleware. */
  respondWithError: RespondWithError;
  /** Also sends the error page for requests that the HTTP parser refuses; returns the function that stops it. */
  refuse(server: Server, options: Pick<RefusalOptions, 'resolver' | 'methods'>): () => void;
  /** Shows a value in the dump panel; returns it. */
  dump: Dump;
  /** `file:line` where a layer of a router was registered; null if unknown. */
  sourceOf: (layer: object) => string | null;
  /**
   * Observes a library that can't be found automatically, because it is bundled or was loaded as an ES module before the profiler:
   * `profiler.observe('pg', pg)`.
   */
  observe(name: string, exports: unknown): void;
  /** The libraries that were found in this process. */
  libraries(): readonly FoundLibrary[];
  watchKnex(knex: HostKnex, instance?: string): void;
  watchApp(app: RenderingApp): void;
  watchEngine(engine: CompilingEngine): void;
  /** Records all lines of winston's loggers, whatever their transport. Other loggers need no call. */
  watchWinston(winston: WinstonLibrary): void;
  profiles: Profiles;
  redactor: Redactor;
  /** Says whether recording is paused, once the storage is available. */
  sayIfPaused(): Promise<void>;
  /** What became of each token. */
  counters(): LedgerCounts;
  /** The process is about to end: ends event streams of the list. */
  leave(): void;
  /** Completes open profiles, stores what waits within `timeoutMs`, and restores everything that was observed. */
  close(timeoutMs?: number): Promise<LedgerCounts>;
}

type Setting = keyof typeof profilerSettings | keyof typeof hostSettings;

const KNOWN: Record<Exclude<keyof ServiceOptions, Setting>, true> = {
  storage: true,
  panels: true,
  findings: true,
  secrets: true,
  secretNames: true,
  redactor: true,
  process: true,
  isStored: true,
  settings: true,
  root: true,
  describesAllRoutes: true,
  authorize: true,
  sourceOf: true,
  anyHostBehindProxy: true,
  Router: true,
  onRequest: true,
  observe: true,
  warn: true,
};
const SAME_START = 5;
const DIFFERENT = 2;

function nearest(name: string, known: readonly string[]): readonly string[] {
  const lower = name.toLowerCase();
  const alike = known.filter((other) => other.toLowerCase().startsWith(lower.slice(0, SAME_START)));
  if (lower.length >= SAME_START && alike.length > 0) return alike;
  return known.filter((other) => editDistance(lower, other.toLowerCase(), DIFFERENT) <= DIFFERENT);
}

/** Unknown options of a profiler, each with the closest known one: typing errors, or options of another version. */
export function unknownOptions(options: object): string[] {
  const known = [...Object.keys(profilerSettings), ...Object.keys(hostSettings), ...Object.keys(KNOWN)];
  return Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      const advice = near.length === 0 ? 'it has no effect.' : `did you mean ${near.join(', ')}?`;
      return `unknown option "${name}"; ${advice}`;
    });
}
