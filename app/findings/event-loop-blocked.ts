/**
 * The event loop was blocked, so the process served nobody. That is measured; the function is named if the request was sampled, else the
 * cause only if one layer or one view ran synchronously throughout. Otherwise any running request may have caused it.
 */
import { callTree, busiestFunctionIn, isSampled } from '../profiler/cpu-tree.ts';
import { fromLayerRow, type RanLayer } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { endOf, type Interval, type Kept } from './shared/kept.ts';
import { callName } from './shared/calls.ts';
import { nameOfLayer } from './shared/http.ts';
import { labelOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';

type Given = Pick<Kept, 'runtime'> &
  Partial<Pick<Kept, 'cpu' | 'routing' | 'views' | 'logs' | 'database' | 'http_client'>>;
type Block = NonNullable<Kept['runtime']['blocks']>[number] & {
  /** The request that blocked it, if that is certain. */
  by?: { profile: string; what: string; where: string; place?: string | null };
};

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
  const overlapMs =
    Math.min(endOf(interval), block.startMs + block.durationMs) - Math.max(interval.startMs, block.startMs);
  return overlapMs >= block.durationMs * MOST;
}

/** The innermost layer whose synchronous part covers the block. */
function layerOf({ routing }: Given, block: Block): RanLayer | undefined {
  return routing?.layers
    .map(fromLayerRow)
    .filter((layer) => layer.durationMs !== null && covers(layer, block))
    .reduce<RanLayer | undefined>(
      (inner, layer) => (layer.startMs >= (inner?.startMs ?? 0) ? layer : inner),
      undefined,
    );
}

interface Cause {
  text: string;
  place: string | null;
}

interface Awaited {
  /** `select … from customers` */
  what: string;
  endMs: number;
  place: string | null;
}

/** Queries and calls of this request; infinite ends are those that had not ended. */
function awaitedIn({ database, http_client: calls }: Given): Awaited[] {
  return [
    ...(database?.queries ?? []).map((query) => ({
      what: database === undefined ? '' : labelOf(database, query),
      endMs: endOf(query),
      place: query.caller,
    })),
    ...(calls?.calls ?? []).map((call) => ({ what: callName(call), endMs: endOf(call), place: call.caller })),
  ];
}

/**
 * Code after an `await` is not seen, but what it awaited is: if nothing else ran in the process, and a query or call of this request ended
 * as the block began, what followed it in the handler is the likely cause.
 */
function afterAwait(kept: Given, block: Block): Cause | null {
  const { routing, runtime } = kept;
  if (runtime.concurrent !== 1) return null;
  const layer = routing?.layers
    .map(fromLayerRow)
    .findLast(({ kind, startMs }) => kind !== 'router' && startMs <= block.startMs);
  const last = awaitedIn(kept).findLast(
    ({ endMs }) => endMs <= block.startMs + block.durationMs * (1 - MOST),
  );
  // On a busy machine, the time that the thread waited for a CPU is missing at the beginning of the block.
  const soonMs = Math.max(SAMPLED_MS, block.durationMs * 3);
  if (layer === undefined || last === undefined || block.startMs - last.endMs > soonMs) return null;
  return {
    text: `${block.startMs - last.endMs <= SAMPLED_MS ? 'likely' : 'possibly'} in code of ${nameOfLayer(layer)} that ran after ${last.what}`,
    place: last.place ?? layer.source,
  };
}

/** Rendering the profiler's error page is not the application's work. */
function isErrorPage({ kind, name }: RanLayer, { child }: ProfileHead): boolean {
  return child !== null && kind === 'error' && name === 'errorPage';
}

/** The process used little CPU: its code waited synchronously, or the machine was late. */
function isWaiting({ cpuMs, durationMs }: Block): boolean {
  return cpuMs !== undefined && cpuMs < durationMs * COMPUTING;
}

/** The function that the samples of the block met. */
function sampledIn({ cpu }: Given, { startMs, durationMs }: Block): Cause | null {
  if (cpu !== undefined && 'earlier' in cpu) {
    const { what, place, profile } = cpu.earlier;
    return { text: `likely in ${what.slice(0, 160)}, as in the sampled request ${profile}`, place };
  }
  if (!isSampled(cpu)) return null;
  const root = callTree(cpu, [startMs, startMs + durationMs]);
  const holder = root.totalUs < durationMs * 1000 * COMPUTING ? null : busiestFunctionIn(root);
  return holder === null ? null : { text: `in ${holder.what.slice(0, 160)}`, place: holder.place };
}

/** null: the profiler itself, or nothing shows that it was code of the process. */
function causeOf(kept: Given, block: Block, head: ProfileHead): Cause | null {
  const { by } = block;
  if (by !== undefined && by.profile !== head.token)
    return { text: `by another request (${by.what}), in ${by.where}`, place: by.place ?? null };
  const sampled = sampledIn(kept, block);
  if (sampled !== null) return sampled;
  const view = kept.views?.views.findLast((entry) => entry.durationMs !== null && covers(entry, block));
  if (view !== undefined) return { text: `while rendering ${view.name.slice(0, 120)}`, place: view.caller };
  const layer = layerOf(kept, block);
  if (layer !== undefined && isErrorPage(layer, head)) return null;
  if (layer !== undefined)
    return { text: `in synchronous code of ${nameOfLayer(layer)}`, place: layer.source };
  if (isWaiting(block)) return null;
  const after = afterAwait(kept, block);
  if (after !== null) return after;
  const { concurrent } = kept.runtime;
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
    ? { text: `by this request or ${others}`, place: null }
    : { text: 'possibly by this request: it logged during that time', place: line.caller ?? null };
}

export const eventLoopBlocked: FindingRule<Given> = {
  name: 'event-loop-blocked',
  needs: ['runtime'],
  labels: ['loop blocked'],
  why: 'A 20 ms timer fired at least 10 ms late while the loop had work: something ran synchronously and blocked everything else. The function is named if the request was sampled (panel CPU), else a handler or view that ran throughout.',
  fix: 'Do less at once: smaller results, asynchronous functions instead of `…Sync`, heavy work in a worker thread or a job. If no function is named here, sample the next request (panel CPU).',
  find(kept, head, from) {
    const { blocks } = kept.runtime;
    if (blocks === undefined) return [];
    const allMs = blocks.reduce((sum, { durationMs }) => sum + durationMs, 0);
    if (allMs < BLOCKED_MS) return [];
    // A garbage collection has a finding of its own.
    const costMs = blocks.reduce((sum, block) => sum - from.time.ownedMs(block, ['collection']), allMs);
    if (costMs < BLOCKED_MS || costMs < (head.durationMs ?? 0) * LEAST_SHARE) return [];
    const at = blocks.reduce(
      (worst, { durationMs }, index) => (durationMs > (blocks[worst]?.durationMs ?? 0) ? index : worst),
      0,
    );
    const longest = blocks[at];
    if (longest === undefined) return [];
    const cause = causeOf(kept, longest, head);
    if (cause === null) return [];
    const whole = head.durationMs === null ? '' : ` of ${duration(head.durationMs)}`;
    const cpu = isWaiting(longest)
      ? `, which used only ${duration(longest.cpuMs ?? 0)} of CPU: a synchronous wait (file, child process), or a busy machine`
      : '';
    const time = `${duration(costMs)}${whole}`;
    const sentence =
      blocks.length === 1
        ? `The event loop was blocked for ${time}, ${cause.text}${cpu}`
        : `The event loop was blocked ${count(blocks.length, 'time')} for ${time}; longest ${duration(longest.durationMs)}, ${cause.text}${cpu}`;
    const severity = costMs >= BAD_MS ? 'bad' : 'warn';
    return [{ severity, sentence, anchor: `h${at + 1}`, costMs, place: cause.place }];
  },
};
