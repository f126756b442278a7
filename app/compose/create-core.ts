/** Creates the parts that record requests and read them back: tokens -> recorder -> writer -> storage -> profiles. */
import type { ProfilerSettings } from '../config/settings.ts';
import { ContextTracker } from '../profiler/context.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { createBlackBox, type EndNote } from '../profiler/black-box.ts';
import { type EndedProcess, storeLeftBoxes } from '../profiler/left-boxes.ts';
import { createLedger, type Ledger } from '../profiler/ledger.ts';
import { createProcessEnd, type End } from '../profiler/process-end.ts';
import { createHousekeeper } from '../profiler/housekeeper.ts';
import { searchedFields } from '../profiler/find-text.ts';
import type { Panel } from '../profiler/panel.ts';
import { createReadWithRetry } from '../profiler/read-with-retry.ts';
import { createProfiles, type Profiles } from '../profiler/profiles.ts';
import { createRecorder, type Recorder } from '../profiler/recorder.ts';
import { createRecording, type Recording } from '../profiler/recording.ts';
import type { Redactor } from '../profiler/redact.ts';
import { createRecordingLimit, type RecordingLimit } from '../profiler/recording-limit.ts';
import type { ProfileStorage, StoredProfile } from '../profiler/storage.ts';
import { createTokenReserve } from '../profiler/token-reserve.ts';
import { createTokenSource } from '../profiler/token-source.ts';
import { createWriter, type Writer } from '../profiler/writer.ts';
import { urls } from '../urls.ts';
import { processProfilers } from './process-profilers.ts';

const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;
/** Name of the setting that says which process ended last. */
const LAST_END = 'last_end';
/** Milliseconds after which it is asked whether this process still runs. */
const FLUSH_WITHIN_MS = 1000;

export interface CoreOptions {
  storage: ProfileStorage;
  panels: readonly Panel[];
  rules: readonly FindingRule[];
  redactor: Redactor;
  settings: ProfilerSettings;
  process: string;
  /** Name of the release that runs; null: unknown. */
  release: string | null;
  tokenFolder?: string | undefined;
  /** Where what can't be stored is left for the next start; null: it is lost. */
  blackBoxFolder: string | null;
  /** Called with each profile that is passed to the writer. */
  onProfile?: (profile: StoredProfile) => void;
  warn: (sentence: string) => void;
}

export interface Core {
  tracker: ContextTracker;
  recorder: Recorder;
  recording: Recording;
  profiles: Profiles;
  writer: Writer;
  ledger: Ledger;
  /** The process of this application that ended last without storing everything; null if none did. */
  lastEnd(): Promise<EndedProcess | null>;
  /** The process is about to end: what is open and queued is left for the next start, in case that it can't be stored. */
  leave(): void;
  /** Why only a summary of a request is recorded; null: it is recorded in full. */
  summaryReason: RecordingLimit['summaryReason'];
  /** Leases tokens from the storage, once it is available, and reads whether recording is paused. */
  refill(): Promise<void>;
  /** Stores what is queued, within `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export function createCore(options: CoreOptions): Core {
  const { storage, panels, rules, redactor, settings, tokenFolder, blackBoxFolder, onProfile, warn } =
    options;
  const { isShared } = storage;
  const ledger = createLedger();
  const blackBox =
    blackBoxFolder === null
      ? undefined
      : createBlackBox({ folder: blackBoxFolder, process: options.process, warn });
  let isClosed = false;
  let failure: EndNote | null = null;
  const tracker = new ContextTracker();
  const tokens = createTokenSource({
    lease: storage.leaseTokens?.bind(storage),
    reserve: tokenFolder === undefined ? undefined : createTokenReserve(tokenFolder),
  });
  const recording = createRecording(storage);
  const limit = createRecordingLimit({
    fullPerSecond: settings.fullPerSecond === 'unlimited' ? Infinity : settings.fullPerSecond,
    isTested: () => processProfilers().isTested,
    sampleRate: settings.sampleRate,
    isPaused: () => recording.pausedAt() !== null,
  });
  let begun = false;

  /** Not before the first request: to create a profiler writes nothing. */
  function begin(): void {
    begun = true;
    processEnd.begin();
    if (isShared) blackBox?.open();
  }

  /** Synchronous. */
  function end({ isOver, isDrained = false, how, isFailure, by }: End): void {
    // What the memory of this process had is gone anyway.
    if (!isShared && !isFailure && by === null) return;
    if (by !== null) {
      by.endedProcess = how;
      if (by.ended) by.onLateFact?.(by);
    }
    recorder.storeOpen({ isOver });
    writer.leave();
    const note: EndNote = { at: Date.now(), how };
    blackBox?.end(note);
    if (isFailure) failure = note;
    // The next start notes how this one failed.
    if (!isDrained && writer.counters().pending === 0 && isOver && !isFailure) blackBox?.remove();
  }

  const processEnd = createProcessEnd({ store: end, current: () => tracker.current(), signals: isShared });
  const writer = createWriter({ storage, ledger, blackBox, warn });
  const recorder = createRecorder({
    panels,
    rules,
    redactor,
    nextToken: () => tokens.next(),
    nextUnrecorded: () => tokens.nextSampledOut(),
    limit,
    ledger,
    write(profile, shared, fate) {
      const { kind, startedAt } = profile.index;
      if (kind !== 'profiler' && recording.leavesOut(startedAt)) {
        if (fate !== undefined) ledger.leftOut(fate, 'recording paused');
        return;
      }
      onProfile?.(profile);
      writer.enqueue(profile, shared, fate);
    },
    process: options.process,
    release: options.release,
    warn,
  });
  const profiles = createProfiles({
    recorder,
    writer,
    storage,
    readStored: createReadWithRetry(storage, tokens),
    searched: searchedFields(panels),
    isUnrecorded: (token) => recording.wasPaused() && tokens.isSampledOut(token),
  });
  const housekeeper = createHousekeeper({
    storage,
    retention: {
      ageMs: settings.retentionHours * HOUR_MS,
      count: settings.retentionCount,
      bytes: settings.retentionMb * MEBIBYTE,
    },
    warn,
  });

  /** False if the storage fails. */
  async function noteEnd(last: EndedProcess): Promise<boolean> {
    try {
      await storage.writeSetting(LAST_END, JSON.stringify(last));
      return true;
    } catch {
      return false;
    }
  }

  async function restoreLeft(folder: string): Promise<void> {
    const ended = await storeLeftBoxes({
      folder,
      enqueue(profile, shared) {
        writer.enqueue(profile, shared, ledger.open('earlier'));
      },
      flush: () => writer.flush(FLUSH_WITHIN_MS),
      isClosed: () => isClosed,
      warn,
    });
    const last = ended.at(-1);
    if (last !== undefined && !isClosed) await noteEnd(last);
  }

  const leftBoxes = blackBoxFolder === null ? Promise.resolve() : restoreLeft(blackBoxFolder);

  return {
    tracker,
    recorder,
    recording,
    profiles,
    writer,
    ledger,
    async lastEnd() {
      await leftBoxes;
      const text = await storage.readSetting(LAST_END);
      return text === null ? null : (JSON.parse(text) as EndedProcess);
    },
    leave() {
      recorder.storeOpen({ isOver: false });
      writer.leave();
    },
    summaryReason(headers, isAsked) {
      if (!begun) begin();
      recording.check();
      return limit.summaryReason(headers, isAsked);
    },
    async refill() {
      await tokens.refill();
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
      await writer.close(timeoutMs);
      isClosed = true;
      const isNoted = failure === null || (await noteEnd({ process: options.process, ...failure }));
      if (isNoted && writer.counters().left === 0) blackBox?.remove();
      processEnd.close();
      await storage.close();
      tracker.close();
    },
  };
}
