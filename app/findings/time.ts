/** Where the time of a slow request went. */
import { type WastefulScan, wastefulScan } from '../panels/shared/wasteful-scan.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import type { RanLayer } from '../panels/shared/ran-layers.ts';
import { isLoop, timesOf } from '../panels/shared/query-groups.ts';
import { pick } from '../panels/shared/rows.ts';
import type { Finding, FixCode } from '../profiler/read/finding.ts';
import type { Profile } from '../profiler/profile.ts';
import type { KeptPlans, PlanNode, QueryPlan } from '../profiler/read/query-plan.ts';
import { BUSY, type Slice, type TimeLedger } from '../profiler/read/time-ledger.ts';
import { isAfterMiss } from './shared/cache.ts';
import { callName, triesOf } from './shared/calls.ts';
import { holdersText } from './shared/holders.ts';
import { nameOfLayer } from './shared/http.ts';
import { type Call, type Database, endOf, type Kept, type Needs, type Rule } from './shared/kept.ts';
import { isLarge, labelOf, readOf, rowOf, sqlOf } from './shared/queries.ts';
import { isDeep, reasonOf } from './shared/statement-reasons.ts';
import {
  certainMs,
  isMostlyHeld,
  lengthOf,
  LONG_MS,
  pausesOf,
  shareOfKind,
  usualText,
  type Wait,
  waitsOf,
} from './shared/time.ts';
import { count, duration, shareOf } from './shared/wording.ts';
import { workIn } from './shared/work.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

function nodesOf(root: PlanNode): PlanNode[] {
  const nodes: PlanNode[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    nodes.push(node);
    waiting.push(...(node.nodes ?? []));
  }
  return nodes;
}

function worstScan(amendment: unknown, isQuery: (index: number) => boolean): WastefulScan | undefined {
  const { plans } = (amendment ?? {}) as Partial<KeptPlans>;
  const plan = plans?.find((entry): entry is QueryPlan => 'root' in entry && isQuery(entry.query));
  if (plan === undefined) return undefined;
  const scans = nodesOf(plan.root).flatMap((node) => wastefulScan(node, plan.tables) ?? []);
  return scans.sort((a, b) => b.rows - a.rows)[0];
}

function describePlan(amendment: unknown, isQuery: (index: number) => boolean): string | null {
  const scan = worstScan(amendment, isQuery);
  if (scan === undefined) return null;
  const table = scan.relation.slice(scan.relation.lastIndexOf('.') + 1);
  return `the plan reads about ${count(scan.rows, 'row')} of ${table} and keeps about ${count(scan.kept)}`;
}

/** The index that the plan lacks; null if that is unclear. */
function indexCode(amendment: unknown, isQuery: (index: number) => boolean): FixCode | null {
  const scan = worstScan(amendment, isQuery);
  if (scan === undefined || scan.columns.length === 0) return null;
  return {
    language: 'sql',
    text: `create index concurrently on ${scan.relation.replace(/^public\./, '')} (${scan.columns.join(', ')});`,
    assumes:
      'Assumes that no index begins with these columns yet, and that the table is read more often than written. With concurrently it blocks no writes, but cannot run in a transaction, as migrations do.',
  };
}

/** A finding about the loop says it, unless each of its statements is slow by itself. */
function isTold({ groups }: Database, { group }: { group: number | null }): boolean {
  const loop = group === null ? undefined : groups[group];
  return loop !== undefined && isLoop(loop) && loop.durationMs / timesOf(loop) < LONG_MS;
}

/** The same statement from the same line is one finding, however often it is slow. */
function firstOfGroups<T extends { group: number | null }>(waits: readonly Wait<T>[]): Wait<T>[] {
  const seen = new Set<number>();
  return waits.filter(({ longest: { group } }) => {
    if (group === null) return true;
    const isFirst = !seen.has(group);
    seen.add(group);
    return isFirst;
  });
}

/** Whether a query is the one that the finding is about, or of the same loop. */
function isAt({ anchor }: Finding, panels: Profile['panels']): (index: number) => boolean {
  const { queries } = panels.database?.data as Database;
  const at = queries.findIndex((_query, index) => rowOf(index) === anchor);
  const group = queries[at]?.group ?? null;
  return (index) => index === at || (group !== null && queries[index]?.group === group);
}

const slowStatement: Rule<Needs<'database', 'cache'>> = {
  name: 'slow-statement',
  needs: ['database'],
  labels: ['slow query'],
  why: 'The statement took at least 100 ms until its result was read, or half of a request that took three times as long as its route usually does. A number of rows read is the database’s estimate (EXPLAIN, run after the response).',
  fix: 'If the finding names a reason, remove that first. Otherwise read its plan (EXPLAIN), and look for a step that reads many rows to return few.',
  find({ database, cache }, { durationMs: wholeMs }, from) {
    const slow = database.queries
      .map((query, index) => {
        const ms = query.durationMs ?? 0;
        return { ...query, index, ms, length: lengthOf(ms, wholeMs, from) };
      })
      .filter(({ length }) => length !== null)
      // A large result, a failure and a wait for a lock have rules of their own.
      // A wait for a connection is a statement without SQL.
      .filter(
        (query) =>
          sqlOf(database, query) !== '' &&
          query.error === null &&
          !isLarge(database, query) &&
          !isDeep(readOf(database, query), query) &&
          !isTold(database, query),
      )
      .filter((query) => query.lockedBy === undefined && !isAfterMiss(query, cache))
      .filter((query) => !isMostlyHeld(query, from.time));
    return firstOfGroups(waitsOf(slow)).map(({ longest: query, beside }) => {
      const { index, ms, length } = query;
      const rows = query.rows === null ? '' : ` and returned ${count(query.rows, 'row')}`;
      const others = beside.length === 0 ? '' : `, while ${count(beside.length, 'other slow statement')} ran`;
      const isUnusual = length === 'unusual';
      const than = isUnusual ? usualText(from.usualMs) : '';
      const reason = reasonOf(readOf(database, query), query);
      const why = reason === null ? '' : `; ${reason}`;
      const sentence = `${labelOf(database, query)} took ${shareOf(ms, wholeMs)}${rows}${others}${than}${why}`;
      const anchor = rowOf(index);
      const severity = isUnusual ? 'info' : 'warn';
      return { severity, sentence, anchor, costMs: ms, place: query.caller };
    });
  },
  amend(finding, { panels }, { plan }) {
    if (plan === undefined) return finding;
    const remark = describePlan(plan, isAt(finding, panels));
    return remark === null ? finding : { ...finding, sentence: `${finding.sentence}; ${remark}` };
  },
  code: (finding, { panels }, { plan }) => indexCode(plan, isAt(finding, panels)),
};

const SLOW_SHARE = 0.3;
/** A part is named from this share of the call on. */
const LARGE_PART = 0.5;
/** A single step is named from this share of opening the connection on. */
const MAIN_STEP = 0.8;

interface Opening {
  lookupMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  openMs: number;
}

function opening({ lookupMs, connectMs, tlsMs, openMs }: Opening): [string, number][] {
  const steps: [string, number | null][] = [
    ['looking up the name', lookupMs],
    ['connecting', connectMs],
    ['in the TLS handshake', tlsMs],
  ];
  const main = steps.find(([, ms]) => (ms ?? 0) >= openMs * MAIN_STEP);
  return openMs === 0 ? [] : [[main?.[0] ?? 'opening the connection', main?.[1] ?? openMs]];
}

/** The part that took most of the call; null if none did. */
function slowPart({ connection, headersMs, durationMs, sentMs = 0, heldBy = [] }: Call): string | null {
  if (headersMs === null || durationMs === null) return null;
  const { lookupMs = 0, connectMs = 0, tlsMs = 0, allMs = 0 } = connection ?? {};
  const openMs = allMs || (lookupMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0);
  const held = heldBy.length === 0 ? '' : `, held by ${holdersText(heldBy)}`;
  const parts: [string, number][] = [
    ...opening({ lookupMs, connectMs, tlsMs, openMs }),
    [`waiting for a free connection of its client${held}`, sentMs - openMs],
    ['waiting for the response', headersMs - Math.max(sentMs, openMs)],
    ['downloading the response', durationMs - headersMs],
  ];
  const [what, ms] = parts.sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  return ms >= durationMs * LARGE_PART ? `${duration(ms)} of it ${what}` : null;
}

function besideText(others: number): string {
  return others === 0 ? '' : ` while ${count(others, 'other slow call')} ran`;
}

const slowCall: Rule<Needs<'http_client'>> = {
  name: 'slow-call',
  needs: ['http_client'],
  labels: ['slow call'],
  why: 'The call took at least 100 ms and 30 % of the request. Or the request took three times as long as its route usually does, and the call half of that. Calls that ran side by side count as one.',
  fix: 'Set a timeout. Cache the result, start the call before other work, or make it after the response. If connecting is slow, keep connections open.',
  find({ http_client: { calls } }, { durationMs: wholeMs }, from) {
    if (wholeMs === null) return [];
    const slow = calls
      .map((call, index) => {
        const ms = call.durationMs ?? 0;
        return { ...call, index, ms, length: lengthOf(ms, wholeMs, from) };
      })
      .filter(({ ms, length }) => length !== null && ms >= wholeMs * SLOW_SHARE)
      .filter((call) => !hasFailed(call))
      .filter((call) => !isMostlyHeld(call, from.time));
    return waitsOf(slow).map(({ longest: call, beside }) => {
      const { index, ms, length } = call;
      const part = slowPart(call);
      const isUnusual = length === 'unusual';
      const sentence = `${callName(call)} took ${shareOf(ms, wholeMs)}${part === null ? '' : `, ${part}`}${besideText(beside.length)}${isUnusual ? usualText(from.usualMs) : ''}`;
      const severity = isUnusual ? 'info' : 'warn';
      return { severity, sentence, anchor: `c${index + 1}`, costMs: ms, place: call.caller };
    });
  },
};

type View = Kept['views']['views'][number];

/** The partial that took at least half of the rendering, all its uses together; null if none did. */
function heaviest(
  views: readonly View[],
  page: number,
  pageMs: number,
): { name: string; count: number; ms: number } | null {
  const sums = new Map<string, { name: string; count: number; ms: number }>();
  for (const { parent, name, durationMs } of views) {
    if (parent !== page) continue;
    const sum = sums.get(name) ?? { name, count: 0, ms: 0 };
    sums.set(name, { name, count: sum.count + 1, ms: sum.ms + (durationMs ?? 0) });
  }
  const [most] = [...sums.values()].sort((a, b) => b.ms - a.ms);
  return most === undefined || most.ms < pageMs / 2 ? null : most;
}

/** Engines load and compile a view when it is first rendered: Pug takes half a second on a busy machine. */
const FIRST_MS = 1000;

function mayBeFirst(durationMs: number): boolean {
  return durationMs >= LONG_MS && durationMs < FIRST_MS;
}

const slowView: Rule<Needs<'views'>> = {
  name: 'slow-view',
  needs: ['views'],
  labels: ['slow view'],
  why: 'Rendering took 100 ms from `render` to its callback (a second if no earlier request rendered the view), or half of a request that took three times as long as its route usually does. Each partial of EJS, Handlebars and Eta is timed too.',
  fix: 'Render less: paginate long lists, compute values beforehand, reuse compiled templates (`view cache`), and cache parts that rarely change.',
  compares: ({ views: { views } }) => views.some(({ durationMs }) => mayBeFirst(durationMs ?? 0)),
  find({ views: { views } }, { durationMs: wholeMs }, from) {
    const known = new Set(
      from.earlier.flatMap(({ kept }) => (kept.views?.views ?? []).map(({ name }) => name)),
    );
    return views.flatMap(({ name, depth, startMs, durationMs, caller }, index) => {
      if (depth !== 0 || durationMs === null) return [];
      if (mayBeFirst(durationMs) && !known.has(name)) return [];
      const length = lengthOf(durationMs, wholeMs, from);
      if (length === null) return [];
      // What else owned its time has findings of its own.
      if (from.time.ownedMs({ startMs, durationMs }, ['view']) < durationMs / 2) return [];
      const isUnusual = length === 'unusual';
      const part = heaviest(views, index, durationMs);
      const most =
        part === null
          ? ''
          : `, ${duration(part.ms)} of it in ${part.count === 1 ? '' : `${count(part.count)} × `}${part.name.slice(0, 120)}`;
      const sentence = `${name.slice(0, 120)} took ${shareOf(durationMs, wholeMs)} to render${most}${isUnusual ? usualText(from.usualMs) : ''}`;
      const severity = isUnusual ? 'info' : 'warn';
      return [{ severity, sentence, anchor: `v${index + 1}`, costMs: durationMs, place: caller }];
    });
  },
};

type TemplateGiven = Needs<'views', 'database' | 'http_client'>;

const templateDoesIo: Rule<TemplateGiven> = {
  name: 'template-does-io',
  needs: ['views'],
  labels: ['query in view', 'call in view'],
  why: 'A query or an outgoing call of this request started after the rendering of a page began and before it ended.',
  fix: 'Load everything the page shows in the handler, and pass values to the view, not functions or promises.',
  find(kept, { durationMs: wholeMs }) {
    if (kept.database === undefined && kept.http_client === undefined) return [];
    const all = workIn(kept);
    return kept.views.views.flatMap((view) => {
      if (view.depth !== 0 || view.durationMs === null) return [];
      const work = all.filter(({ startMs }) => startMs > view.startMs && startMs < endOf(view));
      const [first] = work;
      if (first === undefined) return [];
      const costMs = view.durationMs;
      const more = work.length === 1 ? '' : ` and ${count(work.length - 1, 'other')}`;
      const sentence = `${first.what}${more} started while ${view.name.slice(0, 120)} was rendering, which took ${shareOf(costMs, wholeMs)}`;
      const { panel, anchor } = first;
      const label = panel === 'database' ? 'query in view' : 'call in view';
      return [
        { label, severity: 'warn', sentence, panel, anchor, costMs, place: first.caller ?? view.caller },
      ];
    });
  },
};

type WaitGiven = Needs<'routing' | 'request', 'database' | 'runtime' | 'http_client'>;

/** A wait is reported above both. */
const IDLE_MS = 200;
const IDLE_SHARE = 0.5;
/** The upload of a larger body is a wait for the client. */
const SMALL_BODY = 65_536;
/** A route whose name says that it waits. */
const WAITS = /poll|wait|watch|subscri|listen|stream|updates/i;
/** Between the end of a wait and the statement that it was for. */
const SOON_MS = 5;

/** The innermost function that had not ended in the middle of it. */
function waitingAt(layers: readonly RanLayer[], { startMs, durationMs }: Slice): RanLayer | undefined {
  return layers.findLast((layer) => layer.kind !== 'router' && layer.startMs <= startMs + durationMs / 2);
}

/** Less is what the threads of Node.js itself need. */
const THREADS_MS = 50;

/** CPU beyond that of the event loop: hashes, compression and files are computed on threads of the pool. */
function onThreadsMs({ cpuUserMs, cpuSystemMs, loopUtilization }: Kept['runtime'], wholeMs: number): number {
  const ms = cpuUserMs + cpuSystemMs - loopUtilization * wholeMs;
  return ms < THREADS_MS ? 0 : ms;
}

/** The pauses of a retried call have a finding of their own. */
function pausedMs({ calls }: Kept['http_client'], time: TimeLedger): number {
  return triesOf(calls)
    .flatMap((attempts) => pausesOf(pick(calls, attempts)))
    .reduce((sum, pause) => sum + time.ownedMs(pause, ['idle']), 0);
}

/** Its first statement follows at once: some pools open a connection unobserved, each once. */
function isOpening(database: Database | undefined, wait: Slice): boolean {
  return (database?.queries ?? []).some(
    ({ first, startMs }) => first === true && Math.abs(startMs - endOf(wait)) < SOON_MS,
  );
}

const unrecordedWait: Rule<WaitGiven> = {
  name: 'unrecorded-wait',
  needs: ['request', 'routing'],
  labels: ['unrecorded wait'],
  why: 'For at least 200 ms, and half of the request, no query, call, view or other recorded work ran, and the event loop was free.',
  fix: 'Find the work that this function awaits. A pause that is meant needs no change. Otherwise it is a lock or queue of your own, a file, or a library that is not observed: `profiler.span(name, work)` records it.',
  find({ request, routing, database, runtime, http_client }, { durationMs, outcome }, from) {
    const endMs = request.response?.headersAtMs ?? null;
    if (durationMs === null || endMs === null || endMs < IDLE_MS || outcome !== 'finished') return [];
    if ((request.body?.bytes ?? 0) > SMALL_BODY) return [];
    if (mediaTypeOf(request.response?.contentType ?? null) === 'text/event-stream') return [];
    const { ms: costMs } = shareOfKind(from.time, 'idle');
    const explainedMs =
      (runtime === undefined ? 0 : onThreadsMs(runtime, durationMs)) +
      (http_client === undefined ? 0 : pausedMs(http_client, from.time));
    const waitedMs = certainMs(costMs, from.time) - explainedMs;
    if (waitedMs < IDLE_MS || waitedMs < durationMs * IDLE_SHARE) return [];
    const [longest] = from.time.slices
      .filter(({ kind }) => kind === 'idle')
      .sort((a, b) => b.durationMs - a.durationMs);
    // Something ran, or was ready to run and got no CPU.
    if (longest === undefined || longest.owner?.label === BUSY || isOpening(database, longest)) return [];
    const layer = waitingAt(routing.layers, longest);
    if (layer === undefined || layer.kind === 'error') return [];
    if (WAITS.test(`${routing.route?.pattern ?? ''} ${layer.name}`)) return [];
    const sentence = `${nameOfLayer(layer)} waited ${shareOf(costMs, durationMs)} while nothing that is recorded ran: a pause of your code (setTimeout), or work that is not observed`;
    return [{ severity: 'info', sentence, panel: 'timeline', costMs, place: layer.source }];
  },
};

export const timeRules: readonly Rule[] = [slowStatement, slowCall, slowView, templateDoesIo, unrecordedWait];
