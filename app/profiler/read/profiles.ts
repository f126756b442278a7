/** Finds profiles for every reader (pages, error page, toolbar): in running contexts first, then in the store. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../errors.ts';
import { type ConcludeFrom, type SharedValue, sharedIdsOf } from './conclude.ts';
import { PROFILE_KINDS } from '../record/context.ts';
import { type BrowserFact, browserFactsIn, MOST_BROWSER_FACTS } from './browser-report.ts';
import { dropOldest } from '../drop-oldest.ts';
import { findText, type SearchedFields } from '../store/find-text.ts';
import type { EarlierRequest, RouteAround } from './finding-rule.ts';
import type { Profile, ProfileDocument, ProfileHead } from '../profile.ts';
import { createLabels } from './labels.ts';
import { createOneAtATime } from '../one-at-a-time.ts';
import type { ProfileIndex } from '../store/profile-index.ts';
import { isKindOf, matcherOf, orderOf } from '../store/query-rows.ts';
import type { Recorder } from '../record/recorder.ts';
import {
  LOOKED_BACK_MS,
  type RouteSummaries,
  type RoutePercentiles,
  type SummaryQuery,
} from '../store/route-summary.ts';
import {
  type CountsAndHistogram,
  type CountsAndHistogramQuery,
  type FindResult,
  MOST_COUNTED,
  type ProfileQuery,
} from '../store/storage.ts';
import type { Row, Store, StoredRecord } from '../store/store.ts';
import { round } from './span.ts';
import { histogramOf, percentilesAmong, summarizeRows } from '../store/sum-rows.ts';
import { documentIn } from '../record/summary.ts';
import type { Tokens } from '../record/tokens.ts';
import { createTurns } from '../turns.ts';

export interface FoundProfile {
  profile: Profile;
  /** Late facts by name. */
  amendments: Record<string, unknown>;
  source: 'running' | 'stored';
}

export interface FoundProfiles extends FindResult {
  notice: string | null;
  /** The store failed: only requests that run in this process are known. */
  isAway: boolean;
}

/** By default the newest first, from the first on. */
export type Search = Omit<ProfileQuery, 'offset'> & Partial<Pick<ProfileQuery, 'offset'>>;

export interface Profiles {
  /** null if no profile has the token. Rejects with STORAGE_UNAVAILABLE if the store fails. */
  read(token: string): Promise<FoundProfile | null>;
  /** Stored and running profiles. Never rejects. */
  find(query: Search): Promise<FoundProfiles>;
  countsAndHistogram(query: CountsAndHistogramQuery): Promise<CountsAndHistogram>;
  clear(): Promise<number>;
  summarize(query: SummaryQuery): Promise<RouteSummaries & { notice: string | null }>;
  /** Durations of stored requests of the same route before this one; null if it has no route or the store failed. */
  routePercentiles(profile: ProfileHead): Promise<RoutePercentiles | null>;
  /** Requests recorded in full that ran at the same time, the newest first. Empty if the store failed. */
  overlapping(profile: ProfileHead): Promise<readonly EarlierRequest[]>;
  /** A stored request, full ones of its route before it, and of other routes; null: it is not stored in full, or has no route. */
  aroundRoute(profile: ProfileHead): Promise<RouteAround | null>;
  /** Requests, jobs and commands recorded in full before this one, the newest first, and what started it. Empty if the store failed. */
  before(profile: ProfileHead): Promise<readonly EarlierRequest[]>;
  isUnrecorded(token: string): boolean;
  children(token: string): Promise<ProfileIndex[]>;
  amend(token: string, name: string, value: unknown): Promise<boolean>;
  /**
   * Adds what its browser reported, masked; `atMs` is given in milliseconds since 1970. Of all that came for it the first 20 are stored;
   * false if it is not stored, or has them already.
   */
  report(token: string, facts: readonly BrowserFact[]): Promise<boolean>;
  keep(token: string, yes: boolean): Promise<boolean>;
  stored(row: Row): void;
}

const MOST_OTHERS = 20;
const MOST_BEFORE = 40;
/** Milliseconds that a request may have begun before another and still be looked for beside it. */
const LONGEST_BESIDE = 60_000;
const MOST_SHARED = 500;
const MOST_REMEMBERED = 200;
const MOST_CONCLUDED = 4;
/** Longer ones are concluded anew. */
const LONGEST_CACHED = 262_144;
const NOT_LABELLED = 'Some older requests have not been checked yet. Reload the page to check more.';
const SOON_STORED = 20;
const REPORT_PAUSE = 250;
/** Milliseconds that rows of running requests may take, because a thousand may be open; further ones are rows of summaries. */
const WHOLE_ROWS_MS = 5;
/** Milliseconds before each new attempt to read what another process may store in a moment: one second in all. */
const PAUSES = [20, 40, 80, 120, 160, 180, 200, 200];

/** With what its browser reported. What still ran when its process ended was cut off. */
function documentOf({ row, text, amendments }: StoredRecord): ProfileDocument {
  const document = documentIn({ row, text });
  const browser = browserFactsIn(amendments);
  if (browser.length > 0) document.facts = { ...document.facts, browser };
  const isCutOff = document.state === 'running' && row.state === 'final';
  return isCutOff ? { ...document, state: 'final', outcome: 'cut off' } : document;
}

export function createProfiles(options: {
  recorder: Recorder;
  store: Store;
  tokens?: Pick<Tokens, 'isOfOther'>;
  isUnrecorded?: (token: string) => boolean;
  searched?: SearchedFields;
}): Profiles {
  const { recorder, store, tokens, isUnrecorded = () => false, searched = {} } = options;

  async function runningRows(query: ProfileQuery): Promise<Row[]> {
    const until = performance.now() + WHOLE_ROWS_MS;
    const matches = matcherOf(query);
    const rows: Row[] = [];
    for (const context of [...recorder.runningContexts()])
      if (isKindOf(query, context.kind))
        rows.push(await recorder.indexOf(context, performance.now() > until));
    return rows.filter(matches);
  }

  async function find(search: Search): Promise<FoundProfiles> {
    const query = { offset: 0, ...search };
    labels.noteReader();
    // Pins and text search exist for stored profiles only. The others come first: one that ends meanwhile is among the stored ones too late.
    const isStoredOnly = query.pinned === true || query.text !== undefined;
    const open = isStoredOnly ? [] : await runningRows(query);
    let stored: FindResult = { rows: [], total: 0, totalIsExact: true };
    let notice: string | null = null;
    let isAway = false;
    try {
      const isByFinding = query.hasFinding !== undefined || query.mark !== undefined;
      const isLabelled = !isByFinding || (await labels.labelMatches(query));
      stored = await store.find(query, (record, wanted) => findText(record, wanted, searched));
      if (!((await labels.label(stored.rows)) && isLabelled)) notice = NOT_LABELLED;
    } catch (error) {
      isAway = true;
      const running = open.length > 0 ? ' Only requests that run in this process are shown.' : '';
      notice = `${unavailable(error).message}${running}`;
    }
    const known = new Set(stored.rows.map(({ token }) => token));
    const running = open.filter(({ token }) => !known.has(token));
    const total = stored.total + running.length;
    if (running.length === 0 || query.offset > 0) return { ...stored, total, notice, isAway };
    const rows = [...running, ...stored.rows].sort(orderOf(query)).slice(0, query.limit);
    return { ...stored, rows, total, notice, isAway };
  }

  /** Cached, because every panel of a profile shows them and earlier requests don't change. */
  const percentilesByToken = new Map<string, RoutePercentiles | null>();

  const known = new Map<string, SharedValue>();

  async function readShared(id: string): Promise<void> {
    const text = await store.setting(`part-${id}`);
    if (text === null) return;
    known.set(id, JSON.parse(text) as SharedValue);
    dropOldest(known, MOST_SHARED);
  }

  function isKnown(id: string): boolean {
    return recorder.sharedOf(id) !== undefined || known.has(id);
  }

  async function readOthers(query: Partial<ProfileQuery>, limit = MOST_OTHERS): Promise<EarlierRequest[]> {
    try {
      const page = { isFull: true, limit, offset: 0, counted: false as const };
      const { rows } = await store.find({ ...query, ...page });
      const read = await Promise.all(rows.map(({ token }) => store.read(token)));
      const others: EarlierRequest[] = [];
      const between = createTurns();
      for (const found of read) {
        await between();
        if (found !== null) others.push(recorder.conclude.earlierRequest(documentIn(found)));
      }
      return others;
    } catch {
      return [];
    }
  }

  type Compared = Pick<
    ProfileDocument,
    'token' | 'kind' | 'route' | 'method' | 'url' | 'startedAt' | 'durationMs'
  >;
  type Others = 'earlier' | 'siblings' | 'overlapping';

  const readers: Readonly<Record<Others, (of: Compared) => Promise<readonly EarlierRequest[]>>> = {
    earlier: ({ token, kind, route, method, url, startedAt: until }) =>
      kind === 'job'
        ? readOthers({ kinds: ['job'], url, until, not: [{ token }] })
        : readOthers({ route: route ?? '', method, until, not: [{ token }] }),
    siblings: ({ route, method, startedAt: until }) =>
      readOthers({ kinds: ['request'], until, not: [{ route: route ?? '', method }] }),
    overlapping: ({ token, startedAt, durationMs }) =>
      readOthers({
        kinds: ['request', 'job', 'command'],
        from: startedAt - LONGEST_BESIDE,
        endsAfter: startedAt,
        until: startedAt + (durationMs ?? LONGEST_BESIDE),
        not: [{ token }],
      }),
  };

  /** What rules compared with the profile that was concluded last: its page shows the same. */
  let latest: { token: string; others: Partial<Pick<ConcludeFrom, Others>> } = { token: '', others: {} };

  async function othersOf(profile: Compared, name: Others): Promise<readonly EarlierRequest[]> {
    const known = latest.token === profile.token ? latest.others[name] : undefined;
    return known ?? readers[name](profile);
  }

  async function readAroundRoute(profile: ProfileHead): Promise<RouteAround | null> {
    const { token, kind, route, summary, state } = profile;
    if (kind !== 'request' || route === null || summary !== null || state === 'running') return null;
    const found = await store.read(token).catch(() => null);
    if (found === null) return null;
    const [earlier, siblings] = await Promise.all([
      othersOf(profile, 'earlier'),
      othersOf(profile, 'siblings'),
    ]);
    return { own: recorder.conclude.earlierRequest(documentOf(found)), earlier, siblings };
  }

  async function readBefore({ token, parent, startedAt: until }: ProfileHead): Promise<EarlierRequest[]> {
    const kinds = ['request', 'job', 'command'] as const;
    const before = await readOthers({ kinds, until, not: [{ token }, { isAsset: true }] }, MOST_BEFORE);
    const isKnown = parent === null || before.some(({ head }) => head.token === parent);
    return isKnown ? before : [...before, ...(await readOthers({ kinds, token: parent }))];
  }

  async function readReported({ token, facts }: ProfileDocument): Promise<Map<string, EarlierRequest>> {
    const named = browserFactsIn(facts ?? {}).flatMap(({ calls }) => calls.map(({ request }) => request));
    const tokens = [...new Set(named)].filter((one) => one !== token);
    const found = await Promise.all(tokens.map((one) => store.read(one).catch(() => null)));
    return new Map(
      found.flatMap((one) =>
        one === null ? [] : [[one.row.token, recorder.conclude.earlierRequest(documentOf(one))]],
      ),
    );
  }

  async function beside(document: ProfileDocument): Promise<ConcludeFrom & { isWhole: boolean }> {
    const missing = sharedIdsOf(document).filter((id) => !isKnown(id));
    // If the store fails, the panels that need the shared value say so.
    await Promise.all(missing.map(readShared)).catch(() => undefined);
    const asked = recorder.conclude.asks(document);
    const others = (name: Others) => (asked[name] ? readers[name](document) : undefined);
    const [earlier, siblings, overlapping, reported] = await Promise.all([
      others('earlier'),
      others('siblings'),
      others('overlapping'),
      readReported(document),
    ]);
    const sharedOf = (id: string): SharedValue | undefined => recorder.sharedOf(id) ?? known.get(id);
    // One that overlaps may end, and be stored, later.
    const isWhole = missing.every(isKnown) && !asked.overlapping;
    return { sharedOf, earlier, siblings, overlapping, reported, isWhole };
  }

  const labels = createLabels({
    store,
    async findingsOf(found) {
      const document = documentOf(found);
      return recorder.conclude.findingsInTurns(document, await beside(document));
    },
  });

  /** By token, with the text that it was concluded from. */
  const concluded = new Map<string, { text: string; reports: number; profile: Profile }>();

  async function conclude(found: StoredRecord): Promise<Profile> {
    const { row: { token }, text } = found; // prettier-ignore
    const before = concluded.get(token);
    const reports = browserFactsIn(found.amendments).length;
    if (before?.text === text && before.reports === reports) return before.profile;
    const document = documentOf(found);
    const { isWhole, ...from } = await beside(document);
    latest = { token, others: from };
    const profile = await recorder.conclude.inTurns(document, from);
    concluded.delete(token);
    // The text of a summary is always empty, so it can't tell a newer version.
    const isCached = text !== '' && text.length <= LONGEST_CACHED && isWhole;
    if (profile.state === 'final' && isCached) {
      concluded.set(token, { text, reports, profile });
      dropOldest(concluded, MOST_CONCLUDED);
    }
    return profile;
  }

  /** Because each adds to what is stored. */
  const reportInTurn = createOneAtATime();

  async function addReport(token: string, facts: readonly BrowserFact[]): Promise<boolean> {
    let found = await store.read(token);
    // A request is stored when it ends, or soon after it began.
    for (let tries = 0; found === null && tries < 3 && recorder.running(token) !== undefined; tries++) {
      await sleep(REPORT_PAUSE);
      found = await store.read(token);
    }
    const before = browserFactsIn(found?.amendments ?? {});
    const added = facts.slice(0, MOST_BROWSER_FACTS - before.length);
    if (found === null || added.length === 0) return false;
    const { row } = found;
    const timed = added.map((fact) => ({ ...fact, atMs: round(fact.atMs - row.startedAt) }));
    const browser = [...before, ...recorder.maskReport(token, timed)];
    if (!(await store.amend(token, 'browser', JSON.stringify(browser)))) return false;
    await labels.again(row);
    return true;
  }

  async function readStored(token: string): Promise<FoundProfile | null> {
    const found = await store.read(token);
    if (found === null) return null;
    return {
      profile: await conclude(found),
      amendments: found.pinned ? { ...found.amendments, pin: true } : found.amendments,
      source: 'stored',
    };
  }

  /** The page may be requested from a process that did not serve the request, a moment before that one has stored it. */
  async function readSoon(token: string): Promise<FoundProfile | null> {
    let found = await readStored(token);
    if (found !== null || tokens === undefined || !(await tokens.isOfOther(token))) return found;
    for (const pause of PAUSES) {
      await sleep(pause);
      found = await readStored(token);
      if (found !== null) return found;
    }
    return null;
  }

  return {
    async read(token) {
      labels.noteReader();
      const context = recorder.running(token);
      if (context !== undefined)
        return { profile: await recorder.snapshotInTurns(context), amendments: {}, source: 'running' };
      try {
        return await readSoon(token);
      } catch (error) {
        throw unavailable(error);
      }
    },
    find,
    async countsAndHistogram({ counts, histogram }) {
      const countOf = async (query: ProfileQuery): Promise<number | null> => {
        const isKnown = query.mark === undefined || (await labels.labelMatches(query).catch(() => false));
        if (!isKnown) return null;
        const found = await store.find({ ...query, limit: 1, offset: 0 }).catch(() => null);
        return found === null ? null : Math.min(MOST_COUNTED + 1, found.total);
      };
      return {
        counts: await Promise.all(counts.map(countOf)),
        histogram:
          histogram === undefined
            ? null
            : await histogramOf(store.rows(histogram.from), histogram).catch(() => null),
      };
    },
    clear: () => store.clear(),
    async summarize(query) {
      labels.noteReader();
      const { from, until, group } = query;
      const { route, method = '' } = group ?? {};
      const filters = { from, until, route: route ?? undefined, method: method || undefined };
      const isLabelled = await labels.labelMatches(filters);
      const summaries = await summarizeRows(store.rows(from), query);
      return { ...summaries, notice: isLabelled ? null : NOT_LABELLED };
    },
    async routePercentiles({ kind, token, route, method, startedAt }) {
      if (kind !== 'request' || route === null) return null;
      const before = percentilesByToken.get(token);
      if (before !== undefined) return before;
      try {
        const rows = store.rows(startedAt - LOOKED_BACK_MS);
        const found = await percentilesAmong(rows, { route, method, before: startedAt });
        percentilesByToken.set(token, found);
        dropOldest(percentilesByToken, MOST_REMEMBERED);
        return found;
      } catch {
        return null;
      }
    },
    overlapping: (profile) => othersOf(profile, 'overlapping'),
    aroundRoute: readAroundRoute,
    before: readBefore,
    isUnrecorded,
    async children(token) {
      return (await find({ parent: token, kinds: PROFILE_KINDS, descending: false, limit: 50 })).rows;
    },
    async amend(token, name, value) {
      // A request that has just ended is in the store in a moment.
      if (recorder.running(token)?.ended === true) await sleep(SOON_STORED);
      return store.amend(token, name, JSON.stringify(value ?? null));
    },
    report: (token, facts) => reportInTurn(() => addReport(token, facts)),
    async keep(token, yes) {
      if (recorder.running(token)?.ended === true) await sleep(SOON_STORED);
      return store.keep(token, yes);
    },
    stored: labels.stored,
  };
}
