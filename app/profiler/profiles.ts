/**
 * Finds profiles for every reader (pages, error page, toolbar): in running contexts first, then in the writer's queue, then in
 * the storage.
 */
import type { SearchedFields } from './find-text.ts';
import { createError, type HindsightError, isHindsightError, messageOf } from '../errors.ts';
import { type SharedValue, sharedIdsOf } from './conclude.ts';
import type { EarlierRequest } from './finding-rule.ts';
import type { Profile, ProfileDocument, ProfileHead } from './profile.ts';
import { PROFILE_KINDS } from './context.ts';
import type { ProfileIndex } from './profile-index.ts';
import { sleep } from './timeouts.ts';
import type { Recorder } from './recorder.ts';
import type { RouteSummaries, RoutePercentiles, SummaryQuery } from './route-summary.ts';
import type {
  FindResult,
  ProfileQuery,
  ProfileStorage,
  CountsAndHistogram,
  CountsAndHistogramQuery,
} from './storage.ts';
import { createRecentProfilesCache, type CachedProfile } from './recent-profiles-cache.ts';
import { orderOf } from './query-rows.ts';
import { findUnstored } from './unstored.ts';
import type { Writer } from './writer.ts';

export interface FoundProfile {
  profile: Profile;
  /** Late facts by name. */
  amendments: Record<string, unknown>;
  source: 'running' | 'queued' | 'stored';
}

export interface FoundProfiles extends FindResult {
  /** A sentence if the list is incomplete, for example because the storage failed; else null. */
  notice: string | null;
}

export interface Profiles {
  /**
   * null if no profile has the token. Rejects with STORAGE_UNAVAILABLE if the storage fails. `routePercentiles` reads them in the
   * same statement, for the call that follows.
   */
  read(token: string, options?: { routePercentiles?: boolean }): Promise<FoundProfile | null>;
  /** Stored, running and queued profiles. Never rejects. */
  find(query: ProfileQuery): Promise<FoundProfiles>;
  /** Stored profiles only; null if counting failed. Never rejects. */
  countsAndHistogram(query: CountsAndHistogramQuery): Promise<CountsAndHistogram>;
  /** Deletes all stored profiles except pinned ones. Rejects with STORAGE_UNAVAILABLE. */
  clear(): Promise<number>;
  /** Stored requests by route, after flushing the queue. Rejects with STORAGE_UNAVAILABLE. */
  summarize(query: SummaryQuery): Promise<RouteSummaries>;
  /** Durations of stored requests of the same route before this one; null if it has no route or the storage failed. */
  routePercentiles(profile: ProfileHead): Promise<RoutePercentiles | null>;
  /** Whether a token without a profile belongs to a request that came while recording was paused. */
  isUnrecorded(token: string): boolean;
  /** Error page and other children, oldest first. */
  children(token: string): Promise<ProfileIndex[]>;
  amend(token: string, name: string, value: unknown): Promise<boolean>;
}

/** Earlier requests of a route that a rule may compare with. */
const MOST_EARLIER = 20;
/** Shared values of other processes that are cached. */
const MOST_SHARED = 500;
/** Profiles whose route percentiles are cached. */
const MOST_REMEMBERED = 200;
/** Milliseconds until a request that has ended is in the queue, unless it still expects facts. */
const SOON_QUEUED = 20;
/** Milliseconds that a list waits for the queue to be flushed. */
const FLUSH_BEFORE_LIST = 400;

function unavailable(error: unknown): HindsightError {
  return isHindsightError(error)
    ? error
    : createError('STORAGE_UNAVAILABLE', [messageOf(error)], { cause: error });
}

export function createProfiles(options: {
  recorder: Recorder;
  writer: Writer;
  storage: ProfileStorage;
  /** How one profile is read; default: from the storage, once. */
  readStored?: ProfileStorage['read'];
  isUnrecorded?: (token: string) => boolean;
  /** Where a search for text looks. */
  searched?: SearchedFields;
}): Profiles {
  const { recorder, writer, storage, isUnrecorded = () => false, searched = {} } = options;
  const readStored = options.readStored ?? ((token, wanted) => storage.read(token, wanted));

  async function find(query: ProfileQuery): Promise<FoundProfiles> {
    if (!writer.stalled()) await writer.flush(FLUSH_BEFORE_LIST);
    let stored: FindResult = { rows: [], total: 0, totalIsExact: true };
    let notice: string | null = null;
    try {
      stored = await storage.find(query.text === undefined ? query : { ...query, searched });
    } catch (error) {
      notice = `${unavailable(error).message} Only requests buffered in this process are shown.`;
    }
    // Pins and text search exist for stored profiles only.
    const isOfStored = query.pinned === true || query.text !== undefined;
    const waiting = isOfStored ? [] : findUnstored({ recorder, writer }, query, stored.rows);
    const total = stored.total + waiting.length;
    if (waiting.length === 0 || query.offset > 0) return { ...stored, total, notice };
    const rows = [...waiting, ...stored.rows].sort(orderOf(query)).slice(0, query.limit);
    return { ...stored, rows, total, notice };
  }

  /** Cached, because every panel of a profile shows them and earlier requests don't change. */
  const percentilesByToken = new Map<string, RoutePercentiles | null>();

  function rememberPercentiles(token: string, routePercentiles: RoutePercentiles | null): void {
    if (percentilesByToken.size >= MOST_REMEMBERED) percentilesByToken.clear();
    percentilesByToken.set(token, routePercentiles);
  }

  /** Shared values of other processes, read from the storage. */
  const known = new Map<string, SharedValue>();

  async function readShared(ids: readonly string[]): Promise<void> {
    const texts = await storage.readShared(ids);
    if (known.size + texts.size > MOST_SHARED) known.clear();
    for (const [id, text] of texts) known.set(id, JSON.parse(text) as SharedValue);
  }

  function isKnown(id: string): boolean {
    return recorder.sharedOf(id) !== undefined || known.has(id);
  }

  /** Full requests of the same route before this one, the newest first; empty if the storage fails. */
  async function readEarlier({ route, method, startedAt }: ProfileDocument): Promise<EarlierRequest[]> {
    try {
      const query = {
        route: route ?? '',
        method,
        until: startedAt,
        isFull: true,
        limit: MOST_EARLIER,
        offset: 0,
      };
      const { rows } = await find({ ...query, counted: false });
      const found = await Promise.all(rows.map(({ token }) => storage.read(token)));
      return found.flatMap((one) => {
        const document = one?.document ?? null;
        return document === null ? [] : recorder.earlierRequest(JSON.parse(document) as ProfileDocument);
      });
    } catch {
      return [];
    }
  }

  /** Completes a document; shared values that this process does not have are read from the storage. */
  async function complete(text: string): Promise<{ profile: Profile; isWhole: boolean }> {
    const document = JSON.parse(text) as ProfileDocument;
    const ids = sharedIdsOf(document);
    const missing = ids.filter((id) => !isKnown(id));
    // If the storage fails, the panels that need the shared value say so.
    if (missing.length > 0) await readShared(missing).catch(() => undefined);
    const earlier = recorder.needsEarlier(document) ? await readEarlier(document) : [];
    return { profile: recorder.complete(document, known, earlier), isWhole: missing.every(isKnown) };
  }

  const recent = createRecentProfilesCache();

  async function completeCached(cached: CachedProfile): Promise<Profile> {
    if (cached.profile !== null) return cached.profile;
    const { profile, isWhole } = await complete(cached.text);
    if (isWhole) cached.profile = profile;
    return profile;
  }

  async function completeStored(token: string, withPercentiles: boolean): Promise<FoundProfile | null> {
    const cached = recent.get(token);
    const routePercentiles = withPercentiles && !percentilesByToken.has(token);
    const found = await readStored(token, { known: cached?.version, routePercentiles });
    if (found?.routePercentiles !== undefined) rememberPercentiles(token, found.routePercentiles);
    if (found?.document === null && cached !== undefined)
      return { profile: await completeCached(cached), amendments: found.amendments, source: 'stored' };
    recent.delete(token);
    const text = found?.document ?? null;
    if (found === null || text === null) return null;
    const { amendments, version } = found;
    const { profile, isWhole } = await complete(text);
    if (version !== undefined && isWhole && profile.state === 'final')
      recent.set({ token, version, text, profile: null });
    return { profile, amendments, source: 'stored' };
  }

  async function read(
    token: string,
    { routePercentiles: withPercentiles = false }: { routePercentiles?: boolean } = {},
  ): Promise<FoundProfile | null> {
    const context = recorder.running(token);
    if (context !== undefined)
      return { profile: recorder.snapshot(context), amendments: {}, source: 'running' };
    const queued = writer.peek(token);
    if (queued !== undefined)
      return { profile: (await complete(queued.document)).profile, amendments: {}, source: 'queued' };
    try {
      return await completeStored(token, withPercentiles);
    } catch (error) {
      throw unavailable(error);
    }
  }

  return {
    read,
    find,
    countsAndHistogram: (query) =>
      storage
        .countsAndHistogram(query)
        .catch(() => ({ counts: query.counts.map(() => null), histogram: null })),
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
    async routePercentiles({ kind, token, route, method, startedAt }) {
      if (kind !== 'request' || route === null) return null;
      const before = percentilesByToken.get(token);
      if (before !== undefined) return before;
      try {
        const routePercentiles = await storage.routePercentiles({ route, method, before: startedAt });
        rememberPercentiles(token, routePercentiles);
        return routePercentiles;
      } catch {
        return null;
      }
    },
    isUnrecorded,
    async children(token) {
      const query: ProfileQuery = {
        parent: token,
        kinds: PROFILE_KINDS,
        sort: 'startedAt',
        descending: false,
        limit: 50,
        offset: 0,
      };
      return (await find(query)).rows;
    },
    async amend(token, name, value) {
      // A request that has just ended is queued in a moment.
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
