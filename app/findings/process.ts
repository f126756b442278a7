/** The process: blocks of its event loop, its end and its log lines. */
import { totalMs } from '../panels/shared/rows.ts';
import { timerName } from '../panels/shared/timer-name.ts';
import type { RanLayer } from '../panels/shared/ran-layers.ts';
import { busiestFunctionIn, callTree, isSampled } from '../profiler/read/cpu-tree.ts';
import type { SampledElsewhere } from '../profiler/record/cpu-samples.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { pathOf } from '../profiler/request-target.ts';
import { nameOfLayer } from './shared/http.ts';
import { endOf, type Interval, type Kept, type Needs, type OtherRequest, type Rule } from './shared/kept.ts';
import { isLarge } from './shared/queries.ts';
import { DAY_MS } from './shared/moved-days.ts';
import { bytesRead } from './shared/statement-reasons.ts';
import { certainMs, overlapMs, shareOfKind } from './shared/time.ts';
import { count, duration, excerpt, shareOf } from './shared/wording.ts';
import { workIn } from './shared/work.ts';

type Given = Needs<'runtime', 'cpu' | 'request' | 'routing' | 'views' | 'logs' | 'database' | 'http_client'>;
type Block = Kept['runtime']['blocks'][number];

/** Reported from here on; bad from there on. */
const BLOCKED_MS = 50;
const BAD_MS = 300;
/** Less of the request does not explain its time. */
const LEAST_SHARE = 0.02;
/** Share of a block that its cause must cover; the loop is only sampled every 20 ms. */
const MOST = 0.8;
/** How often the loop is sampled: the beginning of a block is that uncertain. */
const SAMPLED_MS = 20;
/** Share of a block that has to be CPU time if code is to have computed throughout. */
const COMPUTING = 0.5;

function covers(interval: Interval, block: Block): boolean {
  return overlapMs(interval, block) >= block.durationMs * MOST;
}

function layerOf({ routing }: Given, block: Block): RanLayer | undefined {
  return routing?.layers
    .filter((layer) => layer.durationMs !== null && covers(layer, block))
    .reduce<RanLayer | undefined>(
      (inner, layer) => (layer.startMs >= (inner?.startMs ?? 0) ? layer : inner),
      undefined,
    );
}

interface Cause {
  text: string;
  place: string | null;
  /** It may be what runs once, such as what a first visit loads or an engine compiles. */
  mayBeOnce?: true;
}

/** Code after an `await` is not seen: what followed a query or call that ended as the block began is the likely cause. */
function afterAwait(kept: Given, block: Block): Cause | null {
  const { routing } = kept;
  const layer = routing?.layers.findLast(
    ({ kind, startMs }) => kind !== 'router' && startMs <= block.startMs,
  );
  const last = workIn(kept).findLast((one) => endOf(one) <= block.startMs + block.durationMs * (1 - MOST));
  const waitedMs = last === undefined ? Infinity : block.startMs - endOf(last);
  // On a busy machine, the time that the thread waited for a CPU is missing at the beginning of the block.
  const soonMs = Math.max(SAMPLED_MS, block.durationMs * 3);
  if (layer === undefined || last === undefined || waitedMs > soonMs) return null;
  const text = `${waitedMs <= SAMPLED_MS ? 'likely' : 'possibly'} in code of ${nameOfLayer(layer)}`;
  // A layer before had waited for it: this one has waited for nothing yet.
  if (endOf(last) <= layer.startMs) return { text, place: layer.source };
  return { text: `${text} that ran after ${last.what}`, place: last.caller ?? layer.source };
}

/** The process used little CPU: its code waited synchronously, or the machine was late. */
function isWaiting({ cpuMs, durationMs }: Block): boolean {
  return cpuMs !== undefined && cpuMs < durationMs * COMPUTING;
}

function sampledText({ what, profile }: SampledElsewhere): string {
  return `likely in ${what.slice(0, 160)}, as in the sampled request ${profile}`;
}

/** The function that the samples of the block met. */
function sampledIn({ cpu }: Given, { startMs, durationMs }: Block): Cause | null {
  if (cpu !== undefined && 'earlier' in cpu)
    return { text: sampledText(cpu.earlier), place: cpu.earlier.place };
  if (!isSampled(cpu)) return null;
  const root = callTree(cpu, [startMs, startMs + durationMs]);
  const holder = root.totalUs < durationMs * 1000 * COMPUTING ? null : busiestFunctionIn(root);
  return holder === null ? null : { text: `in ${holder.what.slice(0, 160)}`, place: holder.place };
}

/** It waited for a query or call throughout. */
function waitsThroughout({ database, http_client: calls }: Given, block: Block): boolean {
  return [...(database?.queries ?? []), ...(calls?.calls ?? [])].some((one) => covers(one, block));
}

/** The only other request that ran while this one waited for a query or call. */
function byAnother(kept: Given, block: Block, overlapping: readonly OtherRequest[]): Cause | null {
  if (!waitsThroughout(kept, block) || overlapping.length !== kept.runtime.concurrent - 1) return null;
  const running = overlapping.flatMap(({ head, kept: given }) => {
    const other = given as Given;
    if (other.runtime === undefined) return [];
    const startMs = block.startMs + kept.runtime.startMark - other.runtime.startMark;
    const shifted = { ...block, startMs };
    const isRunning = covers({ startMs: 0, durationMs: head.durationMs }, shifted);
    return isRunning && !waitsThroughout(other, shifted) ? [{ head, other, shifted }] : [];
  });
  const [one] = running;
  if (one === undefined || running.length > 1) return null;
  const { head, other, shifted } = one;
  const layer = layerOf(other, shifted);
  const cause =
    layer === undefined
      ? afterAwait(other, shifted)
      : { text: `in synchronous code of ${nameOfLayer(layer)}`, place: layer.source };
  return {
    text: `by another request (${head.method} ${excerpt(pathOf(head.url), 60)}, ${head.token})${cause === null ? '' : `, ${cause.text}`}`,
    place: cause?.place ?? null,
  };
}

/** Lines of what ended last before it and began first after it, while the layer ran. */
function between(
  { database, http_client: calls, views, request }: Given,
  block: Block,
  layer: RanLayer,
): string {
  const ends = block.startMs + block.durationMs;
  const until = layer.nextMs === null ? Infinity : layer.startMs + layer.nextMs;
  const steps = [...(database?.queries ?? []), ...(calls?.calls ?? []), ...(views?.views ?? [])].filter(
    ({ startMs }) => startMs >= layer.startMs && startMs <= until,
  );
  const before = steps
    .filter((step) => endOf(step) <= block.startMs + SAMPLED_MS)
    .toSorted((a, b) => endOf(b) - endOf(a))[0];
  const { sentFrom = null, headersAtMs = null } = request?.response ?? {};
  const sent =
    headersAtMs === null || headersAtMs > until ? [] : [{ startMs: headersAtMs, caller: sentFrom }];
  const after = [...steps, ...sent]
    .filter(({ startMs }) => startMs >= ends - SAMPLED_MS)
    .toSorted((a, b) => a.startMs - b.startMs)[0];
  const from = before?.caller ?? null;
  const to = after?.caller ?? null;
  if (from !== null && to !== null) return ` between ${from} and ${to}`;
  return from !== null ? ` after ${from}` : to === null ? '' : ` before ${to}`;
}

/** null: nothing shows that it was code of the process. */
function causeOf(
  kept: Given,
  block: Block,
  head: ProfileHead,
  overlapping: readonly OtherRequest[],
): Cause | null {
  const { by, interval } = block;
  if (interval !== undefined)
    return { text: `by ${timerName(interval)} (setInterval), outside of requests`, place: interval.place };
  if (by !== undefined && by.profile !== head.token)
    return { text: `by another request (${by.what}), in ${by.where}`, place: by.place ?? null };
  const sampled = sampledIn(kept, block);
  if (sampled !== null) return sampled;
  const view = kept.views?.views.findLast((entry) => entry.durationMs !== null && covers(entry, block));
  if (view !== undefined)
    return { text: `while rendering ${view.name.slice(0, 120)}`, place: view.caller, mayBeOnce: true };
  const layer = layerOf(kept, block);
  if (layer !== undefined)
    return {
      text: `in synchronous code of ${nameOfLayer(layer)}${between(kept, block, layer)}`,
      place: layer.source,
    };
  if (isWaiting(block)) return null;
  const { concurrent } = kept.runtime;
  const after = concurrent === 1 ? afterAwait(kept, block) : byAnother(kept, block, overlapping);
  if (after !== null) return after;
  const others =
    concurrent === 1
      ? 'other work in the process'
      : concurrent === 2
        ? 'the other one that overlapped with it'
        : `one of the ${count(concurrent - 1)} others that overlapped with it`;
  const line = kept.logs?.lines.find(
    ({ atMs, caller }) =>
      typeof caller === 'string' && atMs > block.startMs && atMs < block.startMs + block.durationMs,
  );
  return line === undefined
    ? { text: `by this request or ${others}`, place: null, mayBeOnce: true }
    : { text: 'possibly by this request: it logged during that time', place: line.caller ?? null };
}

/** At least half of the route's other requests were blocked, too. */
function isUsual(earlier: readonly OtherRequest[]): boolean {
  const blocked = earlier.filter(({ kept }) => {
    const runtime = kept.runtime;
    return runtime !== undefined && totalMs(runtime.blocks) >= BLOCKED_MS;
  });
  return blocked.length > 0 && blocked.length >= earlier.length / 2;
}

/** The rows of one read blocked it, which has a finding of its own: that is the cause. */
function isReading({ database, runtime }: Given, wholeMs: number | null): boolean {
  return (database?.queries ?? []).some((query) => {
    if (database === undefined || !(isLarge(database, query) || bytesRead(query) !== null)) return false;
    const blocked = runtime.blocks.reduce((sum, block) => sum + Math.max(0, overlapMs(block, query)), 0);
    return blocked >= BLOCKED_MS && (query.durationMs ?? 0) >= (wholeMs ?? 0) / 2;
  });
}

const eventLoopBlocked: Rule<Given> = {
  name: 'event-loop-blocked',
  needs: ['runtime'],
  labels: ['loop blocked'],
  why: 'A 20 ms timer fired at least 10 ms late while the loop had work: something ran synchronously and blocked everything else. The function is named if a request to this address was sampled (panel CPU), else a handler or view that ran throughout.',
  fix: 'Do less at once: smaller results, asynchronous functions instead of `…Sync`, heavy work in a worker thread or a job. If no function is named here, sample the next request (panel CPU).',
  compares: ({ runtime }) => totalMs(runtime.blocks) >= BLOCKED_MS,
  overlaps: ({ runtime }) => runtime.concurrent > 1 && totalMs(runtime.blocks) >= BLOCKED_MS,
  find(kept, head, from) {
    const { blocks, cpuUserMs, cpuSystemMs, queuedMs = 0 } = kept.runtime;
    const allMs = totalMs(kept.runtime.blocks);
    if (allMs < BLOCKED_MS) return [];
    // A garbage collection has a finding of its own.
    const ownMs = blocks.map((block) => block.durationMs - from.time.ownedMs(block, ['collection']));
    const costMs = ownMs.reduce((sum, ms) => sum + ms, 0);
    // On a busy machine, it is not known when the thread waited for a CPU.
    const surelyMs = Math.max(cpuUserMs + cpuSystemMs, certainMs(costMs, from.time));
    if (surelyMs < BLOCKED_MS) return [];
    if (costMs < BLOCKED_MS || costMs < (head.durationMs ?? 0) * LEAST_SHARE) return [];
    const longestMs = Math.max(...ownMs);
    const at = ownMs.indexOf(longestMs);
    const longest = blocks[at];
    if (longest === undefined) return [];
    const cause = causeOf(kept, longest, head, from.overlapping);
    if (cause === null || (cause.mayBeOnce === true && !isUsual(from.earlier))) return [];
    const whole = head.durationMs === null ? '' : ` of ${duration(head.durationMs)}`;
    const cpu = isWaiting(longest)
      ? `; meanwhile it used only ${duration(longest.cpuMs ?? 0)} of CPU: a synchronous wait (file, child process), or a busy machine`
      : '';
    // It is not known when it was: it may be in the blocks, unless most of the request is not.
    const restMs = (head.durationMs ?? 0) - costMs;
    const queued =
      restMs < costMs || queuedMs < Math.max(BLOCKED_MS, restMs / 2)
        ? ''
        : `; the process also waited ${duration(queuedMs)} for a CPU: the machine was busy`;
    const time = `${duration(costMs)}${whole}`;
    const sentence =
      blocks.length === 1
        ? `The event loop was blocked for ${time}, ${cause.text}${cpu}${queued}`
        : `The event loop was blocked ${count(blocks.length, 'time')} for ${time}; longest ${duration(longestMs)}, ${cause.text}${cpu}${queued}`;
    const severity = costMs >= BAD_MS && !isReading(kept, head.durationMs) ? 'bad' : 'warn';
    return [{ severity, sentence, anchor: `h${at + 1}`, costMs, place: cause.place }];
  },
  amend(finding, _profile, { sampled }) {
    if (sampled === undefined) return finding;
    const by = sampled as SampledElsewhere;
    const { path: _path, ...named } = finding;
    const sentence = `${finding.sentence}; ${sampledText(by)}`;
    return { ...named, sentence, ...(by.place === null ? {} : { place: by.place }) };
  },
};

const readLate: Rule<Needs<'runtime'>> = {
  name: 'read-late',
  needs: ['runtime'],
  labels: ['read late'],
  why: 'An interval or another request blocked the event loop for at least 50 ms until the moment when Node.js read this request. Its client may have waited that long, which no other time on this page includes.',
  fix: 'Do less at once in the blocking code. Its CPU profile names the function: `node --cpu-prof`.',
  find({ runtime: { before } }, { token }) {
    if (before === undefined || before.durationMs < BLOCKED_MS) return [];
    const { by, durationMs, interval } = before;
    const other = by?.profile === token ? undefined : by;
    const who =
      interval !== undefined
        ? `by ${timerName(interval)} (setInterval), outside of requests`
        : other === undefined
          ? null
          : `by ${excerpt(other.what, 80)} (${other.profile}), in ${other.where}`;
    // It may have been Hindsight, which stored what came before, or code that was loaded.
    if (who === null) return [];
    const sentence = `This request may have waited up to ${duration(durationMs)} before it was read: the event loop was blocked ${who}`;
    const severity = durationMs >= BAD_MS ? 'bad' : 'warn';
    return [{ severity, sentence, anchor: 'before', place: interval?.place ?? by?.place }];
  },
};

const LONG_MS = 50;
const LARGE_SHARE = 0.1;

const garbageCollection: Rule<Needs<'runtime'>> = {
  name: 'garbage-collection',
  needs: ['runtime'],
  labels: ['garbage collection'],
  why: 'Node.js reports the duration of each collection: those during the request took at least 50 ms and 10 % of it. They belong to the whole process, not to this request alone.',
  fix: 'Keep fewer objects alive at once: smaller pages of rows, streams instead of whole strings, nothing that grows without limit.',
  find({ runtime: { collections, concurrent, cpuUserMs, cpuSystemMs } }, { durationMs: wholeMs }, from) {
    if (collections.length === 0) return [];
    const { ms: costMs } = shareOfKind(from.time, 'collection');
    if (certainMs(costMs, from.time) < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE))
      return [];
    // The threads that collect waited for the processor: the machine was late, not the collector.
    if (costMs > cpuUserMs + cpuSystemMs) return [];
    const others = count(concurrent - 1, 'other request');
    const shared = concurrent > 1 ? `; ${others} overlapped with this one` : '';
    const times = collections.length === 1 ? 'once' : count(collections.length, 'time');
    const sentence = `Garbage collection ran ${times} and took ${shareOf(costMs, wholeMs)}${shared}`;
    const longest = collections.reduce(
      (worst, { durationMs }, at) => (durationMs > (collections[worst]?.durationMs ?? 0) ? at : worst),
      0,
    );
    return [{ severity: 'warn', sentence, anchor: `gc${longest + 1}`, costMs }];
  },
};

const processEnded: Rule<Needs<'request'>> = {
  name: 'process-ended',
  needs: ['request'],
  labels: ['process ended'],
  why: 'The error was thrown, or `process.exit()` called, in the async context of this request, and the process ended with it.',
  fix: 'Fix the error that the exception panel shows; the last queries and log lines show the work just before. An error in a callback or a promise that nothing awaits reaches no error handler: await it, or pass it to `next()`.',
  find(_kept, { endedProcess, error }) {
    if (endedProcess === undefined) return [];
    return [
      {
        severity: 'bad',
        broke: 'response',
        sentence: `This request ended its process by ${endedProcess}`,
        panel: error === null ? 'timeline' : 'exception',
      },
    ];
  },
};

export const cutOff: Rule<Needs<'request'>> = {
  name: 'cut-off',
  needs: ['request'],
  labels: ['cut off'],
  why: 'The request had not finished when its process stored its profiles and ended.',
  fix: 'If a signal ended the process, give it more time to drain, or let the request take less. If an error did, the exception panel of this request or of another one that ran has it.',
  find(_kept, { outcome, durationMs }) {
    if (outcome !== 'cut off') return [];
    const after = durationMs === null ? 'while this ran' : `after this had run for ${duration(durationMs)}`;
    const sentence = `The process ended ${after}`;
    return [{ severity: 'warn', sentence, panel: 'timeline' }];
  },
};

const MANY = 200;

/** The line of code that wrote at least half of them; null if none did. */
function mostFrequent(
  { lines, unkept = [] }: Kept['logs'],
  total: number,
): { place: string; count: number } | null {
  const counts = new Map<string, number>();
  const add = (place: string | null | undefined, more: number): void => {
    if (typeof place === 'string') counts.set(place, (counts.get(place) ?? 0) + more);
  };
  for (const { caller } of lines) add(caller, 1);
  for (const { caller, count: more } of unkept) add(caller, more);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most === undefined || most[1] < total / 2 ? null : { place: most[0], count: most[1] };
}

const tooManyLogs: Rule<Needs<'logs'>> = {
  name: 'too-many-logs',
  needs: ['logs'],
  labels: ['too many logs'],
  why: 'The request logged at least 200 lines while it ran.',
  fix: 'Log once per loop (how many, how long), and use a level that is switched off for debugging output.',
  find({ logs }) {
    const { lines, unkept = [] } = logs;
    const total = unkept.reduce((sum, { count: more }) => sum + more, lines.length);
    if (total < MANY) return [];
    const most = mostFrequent(logs, total);
    const share = most === null ? '' : `, ${count(most.count)} of them from one line of code`;
    const first = most === null ? 0 : lines.findIndex(({ caller }) => caller === most.place);
    const sentence = `This request logged ${count(total, 'line')}${share}`;
    return [{ severity: 'info', sentence, anchor: `l${first + 1}`, place: most?.place }];
  },
};

const keepsGrowing: Rule<Needs<'runtime'>> = {
  name: 'keeps-growing',
  needs: ['runtime'],
  labels: ['timers grow', 'listeners grow'],
  why: 'A line of this request set an interval, and at least five intervals that it set for earlier requests still run. Or the request added a listener to an event that has more than its emitter allows (`setMaxListeners`).',
  fix: 'Clear the interval when the request ends (`res.on("close", () => clearInterval(timer))`). Add one listener when the process starts, or remove it (`off`, `once`) when the response is sent.',
  find({ runtime: { grown = [] } }) {
    return grown.flatMap(({ what, name, place, count: n }, index): FindingDraft[] => {
      const common = { severity: 'warn', anchor: `left${index + 1}`, place } as const;
      if (what === 'interval') {
        const sentence = `This request set an interval${name === '' ? '' : ` (${excerpt(name, 60)})`}, and ${count(n)} that earlier requests set on the same line still run`;
        return [{ ...common, label: 'timers grow', sentence }];
      }
      const sentence = `This request added a listener for “${excerpt(name, 60)}”, which has ${count(n)} now, more than its emitter expects`;
      return what === 'listener' ? [{ ...common, label: 'listeners grow', sentence }] : [];
    });
  },
};

const timerTooLong: Rule<Needs<'runtime'>> = {
  name: 'timer-too-long',
  needs: ['runtime'],
  labels: ['timer ran at once'],
  why: 'A line of this request set a timer for more than 2,147,483,647 ms (24.8 days). Node.js can’t hold that, sets it to 1 ms and writes a `TimeoutOverflowWarning`.',
  fix: 'Store when it is due and look for it from time to time, or use a job queue with a delay: a timer is also lost when the process ends.',
  find({ runtime: { grown = [] } }) {
    return grown.flatMap(({ what, name, place }, index): FindingDraft[] => {
      if (what !== 'timer') return [];
      const sentence = `A timer was set for ${(Number(name) / DAY_MS).toFixed(1)} days and ran after 1 ms: Node.js can’t wait longer than 24.8 days`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: `left${index + 1}`, place }];
    });
  },
};

export const processRules: readonly Rule[] = [
  keepsGrowing,
  timerTooLong,
  eventLoopBlocked,
  readLate,
  garbageCollection,
  processEnded,
  cutOff,
  tooManyLogs,
];
