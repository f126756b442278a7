/**
 * The trace of the routing panel: layers that ran (facts `layer`), and between them those that did not match, as far as the fact
 * `routing` has them. Nothing is matched again.
 */
import type { ProfileHead } from '../../profiler/profile.ts';
import { lastRunning, type RanLayer } from '../shared/ran-layers.ts';
import type { Asked, Considered, Trace, TraceRow } from './data.ts';
import { whyMountDiffers, whyRouteDiffers } from './reasons.ts';

const MOST_ROWS = 400;

const MOUNTED = 'mounted_app';

function nameOf({ name }: { name: string }): string | null {
  return name === '' || name === '<anonymous>' || name === MOUNTED ? null : name;
}

function routerLabel({ name, pattern }: { name: string; pattern: string }): string {
  return `${name === MOUNTED ? 'application' : 'router'} ${pattern}`;
}

function labelOf(fact: RanLayer): string {
  if (fact.kind === 'handler') return `${fact.method ?? 'ALL'} ${fact.pattern}`;
  if (fact.kind === 'router') return routerLabel(fact);
  const mount = fact.pattern === '/' || fact.kind === 'param' ? '' : ` ${fact.pattern}`;
  return `${fact.name}${mount}`;
}

interface Outcome {
  answered: RanLayer | null;
  isOver: boolean;
  totalMs: number | null;
  headersBy: ReadonlyMap<number, number>;
}

/** The middleware or handler that responded, as far as the layers show it. */
function answeredBy(ran: readonly RanLayer[], { profile, headersAtMs }: TraceOf): RanLayer | null {
  const { status, route } = profile;
  const last = lastRunning(ran, headersAtMs);
  if (last === undefined || status === null) return null;
  // A 404 without a route after the last middleware is Express's own: nothing shows whether that middleware called next().
  return status === 404 && last.kind === 'middleware' && route === null ? null : last;
}

function outcomeOf(ran: readonly RanLayer[], of: TraceOf): Outcome {
  const { profile, headersBy } = of;
  const isOver = profile.durationMs !== null || profile.status !== null;
  return { answered: answeredBy(ran, of), isOver, totalMs: profile.durationMs, headersBy };
}

function leftWithError(facts: readonly RanLayer[], index: number): boolean {
  const depth = facts[index]?.depth ?? 0;
  for (const fact of facts.slice(index + 1)) {
    if (fact.depth <= depth) return false;
    if (fact.outcome === 'threw') return true;
  }
  return false;
}

function happenedTo(
  facts: readonly RanLayer[],
  index: number,
  { answered, isOver }: Outcome,
): { happened: string; tone: TraceRow['tone'] } {
  const fact = facts[index];
  if (fact === undefined) return { happened: '', tone: 'plain' };
  const before = fact.kind === 'handler' ? 'matched, ' : fact.kind === 'error' ? 'received the error, ' : '';
  if (fact.outcome === 'threw') return { happened: `${before}threw`, tone: 'bad' };
  if (fact === answered) return { happened: `${before}responded`, tone: 'on' };
  if (fact.kind === 'router') {
    const left = leftWithError(facts, index) ? ', passed the error on' : ', no match';
    return { happened: `entered${fact.outcome === 'next' ? left : ''}`, tone: 'plain' };
  }
  const removed =
    fact.removed === undefined ? '' : `removed ${fact.removed.join(', ').slice(0, 200)} from the body, `;
  const put = fact.put === undefined ? '' : `put ${fact.put.join(', ').slice(0, 200)}, `;
  if (fact.outcome === 'next') return { happened: `${before}${removed}${put}called next()`, tone: 'plain' };
  return { happened: `${before}${isOver ? 'ran last' : 'is running'}`, tone: 'plain' };
}

function timeOf(fact: RanLayer, { answered, totalMs }: Outcome): number | null {
  if (fact.kind === 'router') return null;
  if (fact.nextMs !== null) return fact.nextMs;
  if (fact === answered && totalMs !== null) return Math.max(0, totalMs - fact.startMs);
  return fact.settledMs ?? fact.durationMs;
}

function withHeaders(happened: string, count: number): string {
  if (count === 0) return happened;
  const parts = happened.split(', ');
  const last = parts.pop() ?? '';
  return [...parts, `set ${count === 1 ? 'one header' : `${count} headers`}`, last].join(', ');
}

function ranRow(facts: readonly RanLayer[], fact: RanLayer, outcome: Outcome): Omit<TraceRow, 'number'> {
  const index = facts.indexOf(fact);
  const { happened, tone } = happenedTo(facts, index, outcome);
  return {
    kind: fact.kind,
    label: labelOf(fact),
    handler: fact.kind === 'handler' || fact.kind === 'router' ? nameOf(fact) : null,
    happened: withHeaders(happened, outcome.headersBy.get(index) ?? 0),
    tone,
    ms: timeOf(fact, outcome),
    source: fact.source,
  };
}

function consideredRow(layer: Considered, { asked, near }: TraceOf): Omit<TraceRow, 'number'> {
  const isRoute = layer.kind === 'route';
  const reasons: Partial<Record<Considered['verdict'], string>> = {
    path: isRoute ? whyRouteDiffers(layer.methods, layer.pattern, asked) : whyMountDiffers(layer.pattern),
    method: `path matches, the method is ${asked.method}`,
    unreadable: 'the path can’t be decoded',
  };
  const isNear = layer.verdict === 'method' || near.has(layer.pattern);
  return {
    kind: layer.kind,
    label: isRoute
      ? `${layer.methods.join(', ')} ${layer.pattern}`
      : layer.kind === 'router'
        ? routerLabel(layer)
        : layer.name,
    handler: null,
    happened: (isRoute ? near.get(layer.pattern) : undefined) ?? reasons[layer.verdict] ?? 'not reached',
    tone: isNear ? 'near' : 'off',
    ms: null,
    source: layer.source,
  };
}

function createNumbering(): (depth: number) => string {
  const counters: number[] = [];
  return (depth) => {
    counters.length = Math.min(counters.length, depth + 1);
    while (counters.length <= depth) counters.push(0);
    counters[depth] = (counters[depth] ?? 0) + 1;
    return counters.join('.');
  };
}

function interleave(ran: readonly RanLayer[], considered: readonly Considered[]): (RanLayer | Considered)[] {
  const rows: (RanLayer | Considered)[] = [];
  let next = 0;
  for (const layer of considered) {
    const hit = layer.verdict === 'entered' || layer.verdict === 'passed' || layer.verdict === 'matched';
    if (!hit) {
      rows.push(layer);
      continue;
    }
    const isRoute = layer.kind === 'route';
    const at = ran.findIndex(
      (fact, index) =>
        index >= next &&
        fact.pattern === layer.pattern &&
        fact.depth === layer.depth &&
        (isRoute || fact.name === layer.name),
    );
    // Layers that ran before the request was watched left no fact.
    if (at === -1) continue;
    let end = at + 1;
    while (isRoute && ran[end]?.kind === 'handler' && ran[end]?.pattern === layer.pattern) end++;
    rows.push(...ran.slice(next, end));
    next = end;
  }
  return [...rows, ...ran.slice(next)];
}

interface TraceOf {
  asked: Asked;
  profile: ProfileHead;
  headersBy: ReadonlyMap<number, number>;
  headersAtMs: number | null;
  near: ReadonlyMap<string, string>;
}

export function buildTrace(ran: readonly RanLayer[], considered: readonly Considered[], of: TraceOf): Trace {
  const outcome = outcomeOf(ran, of);
  const numberOf = createNumbering();
  const rows = interleave(ran, considered).flatMap((item): TraceRow[] => {
    const number = numberOf(item.depth);
    if ('outcome' in item) return [{ number, ...ranRow(ran, item, outcome) }];
    // Where none matched, routes of other paths say where a new one belongs.
    const isOther = item.kind === 'route' && item.verdict === 'path' && !of.near.has(item.pattern);
    return isOther && of.profile.route !== null ? [] : [{ number, ...consideredRow(item, of) }];
  });
  return {
    trace: rows.slice(0, MOST_ROWS),
    traceDropped: Math.max(0, rows.length - MOST_ROWS),
    ran: ran.length,
  };
}
