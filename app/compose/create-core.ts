/** Creates the parts that record requests and read them back: tokens -> recorder -> store -> profiles. */
import { messageOf } from '../errors.ts';
import type { IncomingMessage } from 'node:http';
import type { ProfilerSettings } from '../config/settings.ts';
import { ContextTracker } from '../profiler/record/context.ts';
import { dropOldest } from '../profiler/drop-oldest.ts';
import { searchedFields } from '../profiler/store/find-text.ts';
import type { FindingRule } from '../profiler/read/finding-rule.ts';
import { createHousekeeper } from '../profiler/store/housekeeper.ts';
import { createLedger, type Fate, type Ledger } from '../profiler/record/ledger.ts';
import type { Panel } from '../profiler/panel.ts';
import { createProcessEnd, type End, type EndedProcess } from '../profiler/record/process-end.ts';
import { createProfiles, type Profiles } from '../profiler/read/profiles.ts';
import { createRecorder, type Recorder } from '../profiler/record/recorder.ts';
import { createRecording, type Recording } from '../profiler/record/recording.ts';
import { createRecordingLimit, type SummaryReason } from '../profiler/record/recording-limit.ts';
import type { Redactor } from '../profiler/masking/redact.ts';
import type { SharedPart } from '../profiler/store/storage.ts';
import type { Store } from '../profiler/store/store.ts';
import type { StoredText } from '../profiler/record/summary.ts';
import { createRouteInFull, type RouteInFull } from '../profiler/record/route-in-full.ts';
import { createTokens } from '../profiler/record/tokens.ts';
import { urls } from '../urls.ts';
import { processProfilers } from './process-profilers.ts';

const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;
const LAST_END = 'last-end';
const PART_AGAIN_MS = 1_800_000;
const MOST_PARTS = 1000;

export interface CoreOptions {
  store: Store;
  panels: readonly Panel[];
  rules: readonly FindingRule[];
  redactor: Redactor;
  settings: ProfilerSettings;
  process: string;
  release: string | null;
  onProfile?: (profile: StoredText) => void;
  warn: (sentence: string) => void;
}

export type RequestHead = Partial<Pick<IncomingMessage, 'method' | 'url' | 'headers'>>;

export interface Core {
  tracker: ContextTracker;
  recorder: Recorder;
  recording: Recording;
  profiles: Profiles;
  ledger: Ledger;
  lastEnd(): Promise<EndedProcess | null>;
  summaryReason(request: RequestHead, isAsked?: boolean): SummaryReason | null;
  routeInFull: RouteInFull;
  sayIfPaused(): Promise<void>;
  close(timeoutMs: number): Promise<void>;
}

export function createCore(options: CoreOptions): Core {
  const { store, panels, settings, onProfile, warn } = options;
  const ledger = createLedger();
  const tracker = new ContextTracker();
  const tokens = createTokens(store.setting.bind(store), options.process);
  const recording = createRecording(store);
  const routeInFull = createRouteInFull(store);
  const limit = createRecordingLimit({
    fullPerSecond: settings.fullPerSecond === 'unlimited' ? Infinity : settings.fullPerSecond,
    isTested: () => processProfilers().isTested,
    sampleRate: settings.sampleRate,
    isPaused: () => recording.pausedAt() !== null,
  });

  function end({ isOver, how, isFailure, by }: End): void {
    if (by !== null) {
      by.endedProcess = how;
      by.changed();
    }
    recorder.storeOpen({ isOver });
    const last: EndedProcess = { process: options.process, at: Date.now(), how };
    store.closeSync(isFailure ? { name: LAST_END, value: JSON.stringify(last) } : undefined);
  }

  const processEnd = createProcessEnd({ store: end, current: () => tracker.current() });
  const partsStored = new Map<string, number>();

  function storePart({ id, text }: SharedPart): void {
    const now = performance.now();
    if (now - (partsStored.get(id) ?? -Infinity) < PART_AGAIN_MS) return;
    partsStored.delete(id);
    partsStored.set(id, now);
    dropOldest(partsStored, MOST_PARTS);
    store.setting(`part-${id}`, text).catch(() => partsStored.delete(id));
  }

  function add(profile: StoredText, shared: readonly SharedPart[], given?: Fate): void {
    const { kind, startedAt } = profile.row;
    const fate = given ?? ledger.open('application');
    if (kind !== 'profiler' && recording.leavesOut(startedAt)) {
      ledger.leftOut(fate, 'recording paused');
      return;
    }
    onProfile?.(profile);
    ledger.queued(fate);
    const settled = (dropped: string | null): void => {
      if (dropped === null) ledger.stored(fate);
      else ledger.dropped(fate, dropped);
    };
    try {
      shared.forEach(storePart);
      store.add([{ ...profile, settled }]);
      profiles.stored(profile.row);
    } catch (error) {
      // A store of the application's own that breaks its contract.
      settled('failed');
      warn(`A profile could not be stored: ${messageOf(error)}.`);
    }
  }

  const recorder = createRecorder({
    ...options,
    nextToken: () => tokens.next(),
    nextUnrecorded: () => tokens.nextLeftOut(),
    limit,
    ledger,
    write: add,
  });
  const profiles = createProfiles({
    recorder,
    store,
    tokens,
    searched: searchedFields(panels),
    isUnrecorded: (token) => recording.wasPaused() && tokens.isLeftOut(token),
  });
  const housekeeper = createHousekeeper({
    store,
    retention: {
      ageMs: settings.retentionHours * HOUR_MS,
      count: settings.retentionCount,
      bytes: settings.retentionMb * MEBIBYTE,
    },
    warn,
  });

  return {
    tracker,
    recorder,
    recording,
    profiles,
    ledger,
    async lastEnd() {
      const text = await store.setting(LAST_END);
      return text === null ? null : (JSON.parse(text) as EndedProcess);
    },
    routeInFull,
    summaryReason({ method = '', url = '', headers = {} }, isAsked = false) {
      // Not before the first request: to create a profiler has no effect.
      processEnd.begin();
      recording.check();
      return limit.summaryReason(headers, isAsked || routeInFull.matches(method, url));
    },
    async sayIfPaused() {
      await recording.refresh();
      const pausedAt = recording.pausedAt();
      if (pausedAt !== null)
        warn(
          `Recording has been paused since ${new Date(pausedAt).toISOString()}; resume it at ${urls.home()}.`,
        );
    },
    async close(timeoutMs) {
      housekeeper.close();
      recorder.close();
      await store.close(timeoutMs);
      processEnd.close();
      tracker.close();
    },
  };
}
