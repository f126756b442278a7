/** Creates the parts that record requests and read them back: tokens -> recorder -> writer -> storage -> profiles. */
import type { ProfilerSettings } from '../config/settings.ts';
import { type ContextLimits, ContextTracker } from '../profiler/context.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { createProcessEnd } from '../profiler/process-end.ts';
import { createHousekeeper } from '../profiler/housekeeper.ts';
import { searchedFields } from '../profiler/find-text.ts';
import type { Panel } from '../profiler/panel.ts';
import { createReadWithRetry } from '../profiler/read-with-retry.ts';
import { createProfiles, type Profiles } from '../profiler/profiles.ts';
import { createRecorder, type Recorder } from '../profiler/recorder.ts';
import { createRecording, type Recording } from '../profiler/recording.ts';
import type { Redactor } from '../profiler/redact.ts';
import { createSampler, type Sampler } from '../profiler/sampling.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { createTokenReserve } from '../profiler/token-reserve.ts';
import { createTokenSource } from '../profiler/token-source.ts';
import { createWriter, type Writer } from '../profiler/writer.ts';
import { urls } from '../urls.ts';

const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;
/** Milliseconds by which a database that hangs may delay the end of the process. */
const STORE_AT_EXIT_MS = 2000;

export interface CoreOptions {
  storage: ProfileStorage;
  panels: readonly Panel[];
  rules: readonly FindingRule[];
  redactor: Redactor;
  settings: ProfilerSettings;
  process: string;
  limits?: ContextLimits | undefined;
  tokenFolder?: string | undefined;
  warn: (sentence: string) => void;
}

export interface Core {
  tracker: ContextTracker;
  recorder: Recorder;
  recording: Recording;
  profiles: Profiles;
  writer: Writer;
  takes: Sampler['takes'];
  /** Leases tokens from the storage, once it is available, and reads whether recording is paused. */
  refill(): Promise<void>;
  /** Stores what is queued, within `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export function createCore(options: CoreOptions): Core {
  const { storage, panels, rules, redactor, settings, limits, tokenFolder, warn } = options;
  const tokens = createTokenSource({
    lease: storage.leaseTokens?.bind(storage),
    reserve: tokenFolder === undefined ? undefined : createTokenReserve(tokenFolder),
  });
  const recording = createRecording(storage);
  const sampler = createSampler({
    rate: settings.sampleRate,
    slowMs: settings.slowMs,
    isPaused: () => recording.pausedAt() !== null,
  });
  const processEnd =
    storage.writeSync === undefined
      ? null
      : createProcessEnd((end) => {
          recorder.storeOpen(end);
          writer.writeSync(STORE_AT_EXIT_MS);
        });
  const writer = createWriter({ storage, warn });
  const recorder = createRecorder({
    panels,
    rules,
    redactor,
    nextToken: () => tokens.next(),
    nextSampledOut: () => tokens.nextSampledOut(),
    sampler,
    write(profile, shared) {
      const { kind, startedAt } = profile.index;
      if (kind === 'profiler' || !recording.leavesOut(startedAt)) writer.enqueue(profile, shared);
    },
    process: options.process,
    limits,
    warn,
  });
  const profiles = createProfiles({
    recorder,
    writer,
    storage,
    readStored: createReadWithRetry(storage, tokens),
    searched: searchedFields(panels),
    isSampledOut: (token) => (settings.sampleRate < 1 || recording.wasPaused()) && tokens.isSampledOut(token),
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

  return {
    tracker: new ContextTracker(),
    recorder,
    recording,
    profiles,
    writer,
    takes(headers) {
      processEnd?.begin();
      return !recording.check() && sampler.takes(headers);
    },
    async refill() {
      await tokens.refill();
      await recording.refresh();
      const pausedAt = recording.pausedAt();
      if (pausedAt !== null)
        warn(`Recording is paused since ${new Date(pausedAt).toISOString()}; resume it at ${urls.home()}.`);
    },
    async close(timeoutMs) {
      housekeeper.close();
      recorder.close();
      await writer.close(timeoutMs);
      processEnd?.close();
      await storage.close();
    },
  };
}
