/**
 * The one way in for readers: running contexts first, then the writer's queue, then the storage.
 * Pages, the error page and the toolbar ask nothing else.
 */
import type { SearchedFields } from './find-text.ts';
import { createError, HindsightError } from '../errors.ts';
import { type SharedValue, sharedIdsOf } from './complete-profile.ts';
import type { Profile, ProfileDocument, ProfileHead } from './profile.ts';
import type { ProfileIndex } from './profile-index.ts';
import { sleep } from './patience.ts';
import type { Recorder } from './recorder.ts';
import type { RouteSummaries, Standing, SummaryQuery } from './route-summary.ts';
import type { FindResult, ProfileQuery, ProfileStorage, Survey, SurveyQuery } from './storage.ts';
import { createShownLately, type Shown } from './shown-lately.ts';
import { findUnstored } from './unstored.ts';
import type { Writer } from './writer.ts';

export interface FoundProfile {
  profile: Profile;
  /** Late facts by name. */
  amendments: Record<string, unknown>;
  source: 'running' | 'queued' | 'stored';
}

export interface FoundProfiles extends FindResult {
  /** A sentence where the list is not whole, such as when the storage does not answer; else null. */
  notice: string | null;
}

export interface Profiles {
  /**
   * null for a token that no profile has. Rejects with STORAGE_UNAVAILABLE where the storage can't be asked. `standing`: it will be
   * asked for next, and is read along.
   */
  read(token: string, options?: { standing?: boolean }): Promise<FoundProfile | null>;
  /** Stored ones together with those that run or wait; always answers. */
  find(query: ProfileQuery): Promise<FoundProfiles>;
  /** Stored ones only; what can't be counted is null. Never rejects. */
  survey(query: SurveyQuery): Promise<Survey>;
  /** Deletes all stored ones but the pinned. Rejects with STORAGE_UNAVAILABLE. */
  clear(): Promise<number>;
  /** Stored requests by route, with those that are about to be stored. Rejects with STORAGE_UNAVAILABLE. */
  summarize(query: SummaryQuery): Promise<RouteSummaries>;
  /** What the stored requests of its route took before a profile; null where it has no route, or nobody can tell. */
  standing(profile: ProfileHead): Promise<Standing | null>;
  /** Whether a token that no profile has was given to a request that is sampled out. */
  isSampledOut(token: string): boolean;
  /** Error page and other children, oldest first. */
  children(token: string): Promise<ProfileIndex[]>;
  amend(token: string, name: string, value: unknown): Promise<boolean>;
}

/** Shared values of other processes that are remembered. */
const MOST_SHARED = 500;
/** Profiles whose standing is remembered. */
const MOST_STANDINGS = 200;
/** Milliseconds after which a request that has ended waits in the queue, unless facts of it are still expected. */
const SOON_QUEUED = 20;
/** Milliseconds a list waits for what is queued to be stored. */
const FLUSH_BEFORE_LIST = 400;

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function unavailable(error: unknown): HindsightError {
  return error instanceof HindsightError
    ? error
    : createError('STORAGE_UNAVAILABLE', [reasonOf(error)], { cause: error });
}

export function createProfiles(options: {
  recorder: Recorder;
  writer: Writer;
  storage: ProfileStorage;
  /** How one profile is read; default: from the storage, once. */
  readStored?: ProfileStorage['read'];
  isSampledOut?: (token: string) => boolean;
  /** Where a search for text looks. */
  searched?: SearchedFields;
}): Profiles {
  const { recorder, writer, storage, isSampledOut = () => false, searched = {} } = options;
  const readStored = options.readStored ?? ((token, wanted) => storage.read(token, wanted));

  async function find(query: ProfileQuery): Promise<FoundProfiles> {
    if (!writer.stalled()) await writer.flush(FLUSH_BEFORE_LIST);
    let stored: FindResult = { rows: [], total: 0, totalIsExact: true };
    let notice: string | null = null;
    try {
      stored = await storage.find(query.text === undefined ? query : { ...query, searched });
    } catch (error) {
      notice = `${unavailable(error).message} What is shown waits in this process.`;
    }
    // Pins and words are known of what is stored only.
    const isOfStored = query.pinned === true || query.text !== undefined;
    const waiting = isOfStored
      ? { rows: [], total: 0 }
      : findUnstored({ recorder, writer }, query, stored.rows);
    const total = stored.total + waiting.total;
    if (waiting.total === 0 || query.offset > 0) return { ...stored, total, notice };
    const rows = [...waiting.rows, ...stored.rows]
      .sort((a, b) => compareRows(a, b, query))
      .slice(0, query.limit);
    return { ...stored, rows, total, notice };
  }

  /** What came before a request stays as it was: each of its panels shows it. */
  const standings = new Map<string, Standing | null>();

  function keepStanding(token: string, standing: Standing | null): void {
    if (standings.size >= MOST_STANDINGS) standings.clear();
    standings.set(token, standing);
  }

  /** What other processes share, as it was read from the storage. */
  const known = new Map<string, SharedValue>();

  async function readShared(ids: readonly string[]): Promise<void> {
    const texts = await storage.readShared(ids);
    if (known.size + texts.size > MOST_SHARED) known.clear();
    for (const [id, text] of texts) known.set(id, JSON.parse(text) as SharedValue);
  }

  function isKnown(id: string): boolean {
    return recorder.sharedOf(id) !== undefined || known.has(id);
  }

  /** A document that refers to what this process does not know yet is completed by the storage's. */
  async function complete(text: string): Promise<{ profile: Profile; isWhole: boolean }> {
    const document = JSON.parse(text) as ProfileDocument;
    const ids = sharedIdsOf(document);
    const missing = ids.filter((id) => !isKnown(id));
    // What is lost with a storage that fails is the common part of some panels; they say so.
    if (missing.length > 0) await readShared(missing).catch(() => undefined);
    return { profile: recorder.complete(document, known), isWhole: missing.every(isKnown) };
  }

  const lately = createShownLately();

  async function completeAgain(shown: Shown): Promise<Profile> {
    if (shown.profile !== null) return shown.profile;
    const { profile, isWhole } = await complete(shown.text);
    if (isWhole) shown.profile = profile;
    return profile;
  }

  async function completeStored(token: string, withStanding: boolean): Promise<FoundProfile | null> {
    const shown = lately.of(token);
    const standing = withStanding && !standings.has(token);
    const found = await readStored(token, { known: shown?.version, standing });
    if (found?.standing !== undefined) keepStanding(token, found.standing);
    if (found?.document === null && shown !== undefined)
      return { profile: await completeAgain(shown), amendments: found.amendments, source: 'stored' };
    lately.forget(token);
    const text = found?.document ?? null;
    if (found === null || text === null) return null;
    const { amendments, version } = found;
    const { profile, isWhole } = await complete(text);
    if (version !== undefined && isWhole && profile.state === 'final')
      lately.keep({ token, version, text, profile: null });
    return { profile, amendments, source: 'stored' };
  }

  return {
    async read(token, { standing: withStanding = false } = {}) {
      const context = recorder.running(token);
      if (context !== undefined)
        return { profile: recorder.snapshot(context), amendments: {}, source: 'running' };
      const queued = writer.peek(token);
      if (queued !== undefined)
        return { profile: (await complete(queued.document)).profile, amendments: {}, source: 'queued' };
      try {
        return await completeStored(token, withStanding);
      } catch (error) {
        throw unavailable(error);
      }
    },
    find,
    survey: (query) =>
      storage.survey(query).catch(() => ({ counts: query.counts.map(() => null), pulse: null })),
    async clear() {
      await writer.flush(FLUSH_BEFORE_LIST);
      try {
        return await storage.clear();
      } catch (error) {
        throw unavailable(error);
      }
    },
    async summarize(query) {
      if (!writer.stalled()) await writer.flush(FLUSH_BEFORE_LIST);
      try {
        return await storage.summarize(query);
      } catch (error) {
        throw unavailable(error);
      }
    },
    async standing({ kind, token, route, method, startedAt }) {
      if (kind !== 'request' || route === null) return null;
      const before = standings.get(token);
      if (before !== undefined) return before;
      try {
        const standing = await storage.standing({ route, method, before: startedAt });
        keepStanding(token, standing);
        return standing;
      } catch {
        return null;
      }
    },
    isSampledOut,
    async children(token) {
      const query: ProfileQuery = {
        parent: token,
        kinds: ['request', 'error_page', 'profiler'],
        sort: 'startedAt',
        descending: false,
        limit: 50,
        offset: 0,
      };
      return (await find(query)).rows;
    },
    async amend(token, name, value) {
      // One that has just ended is made and queued in a moment.
      if (recorder.running(token)?.ended === true) await sleep(SOON_QUEUED);
      await writer.flush(FLUSH_BEFORE_LIST);
      try {
        return await storage.amend(token, name, value);
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}

function compareRows(a: ProfileIndex, b: ProfileIndex, query: ProfileQuery): number {
  const column = query.sort ?? 'startedAt';
  const sign = query.descending === false ? 1 : -1;
  const [left, right] = [a[column], b[column]];
  if (left === right) return sign * (a.startedAt - b.startedAt);
  if (left === null) return 1;
  if (right === null) return -1;
  return sign * (left < right ? -1 : 1);
}
