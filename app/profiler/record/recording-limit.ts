/**
 * Which requests are recorded in full. Of the others only a summary is: request line, status, time, route, client, error. This bounds what
 * recording costs, whatever the traffic.
 */

export type SummaryReason = 'limit' | 'sampled' | 'paused' | 'toolbar';

export const WHY_SUMMARY: Readonly<Record<SummaryReason, string>> = {
  limit:
    'Its process had reached the limit of requests recorded in full per second (PROFILER_FULL_PER_SECOND), so only a summary of this one was recorded.',
  sampled: 'The sample rate (PROFILER_SAMPLE_RATE) left it out, so only a summary of it was recorded.',
  paused: 'Recording was paused.',
  toolbar: 'It is one of the toolbar’s own requests.',
};

/** `isWork`: no request asks for it. */
export function howToRecordInFull(isWork: boolean): string {
  return isWork
    ? 'Raise the limit: hindsight(app, { fullPerSecond: 400 }).'
    : 'Send it again with the header x-debug-profile: 1, open it in a browser, or raise the limit: hindsight(app, { fullPerSecond: 400 }).';
}

export interface RecordingLimitOptions {
  /** Requests recorded in full per second, in bursts of five times as many; Infinity: no limit. */
  fullPerSecond: number;
  sampleRate: number;
  isPaused?: () => boolean;
  /** While a test reads the profiles of its process, there is no limit. */
  isTested?: () => boolean;
}

type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RecordingLimit {
  isPaused(): boolean;
  /** Asked once, when a request opens; null: it is recorded in full. `isAsked`: somebody asked for this one, whatever its headers say. */
  summaryReason(headers: RequestHeaders, isAsked?: boolean): SummaryReason | null;
}

/** With this header a request is recorded in full at any sample rate; values `0` and empty have no effect. */
const ASKING_HEADER = 'x-debug-profile';
/** So many seconds of the limit may be used at once. */
const BURST_SECONDS = 5;

/**
 * Filled once a second: requests that are recorded one after the other cost a part of those between others, as the processor has the code and
 * its data at hand. And two that overlap are both recorded in full.
 */
function createBucket(perSecond: number, now: () => number): { take(): boolean } {
  const most = perSecond * BURST_SECONDS;
  let left = most;
  let filledAt = now();
  return {
    take() {
      if (perSecond === Infinity) return true;
      const seconds = Math.floor((now() - filledAt) / 1000);
      left = Math.min(most, left + seconds * perSecond);
      filledAt += seconds * 1000;
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}

function isOfSomebody(headers: RequestHeaders): boolean {
  const asked = headers[ASKING_HEADER];
  if (typeof asked === 'string' && asked !== '' && asked !== '0') return true;
  return headers['sec-fetch-mode'] === 'navigate';
}

export function createRecordingLimit(
  { fullPerSecond, sampleRate, isPaused = () => false, isTested = () => false }: RecordingLimitOptions,
  { now = () => performance.now(), random = Math.random }: { now?: () => number; random?: () => number } = {},
): RecordingLimit {
  const all = createBucket(fullPerSecond, now);
  /** Apart, so that a load test keeps nobody from debugging, and no client can force unlimited work. */
  const ofSomebody = createBucket(fullPerSecond, now);
  return {
    isPaused,
    summaryReason(headers, isAsked = false) {
      if (isPaused()) return 'paused';
      if (isTested()) return null;
      if (isAsked || isOfSomebody(headers)) return ofSomebody.take() ? null : 'limit';
      if (sampleRate < 1 && random() >= sampleRate) return 'sampled';
      return all.take() ? null : 'limit';
    },
  };
}
