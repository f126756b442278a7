/**
 * The ledger of time: each millisecond of a request has one owner. Every page, finding and comparison takes its times from here. A pure
 * function of the spans that panels make of a record.
 *
 * Of what runs at a moment, the owner is the first of: a garbage collection; code that runs without a break, the innermost; another
 * request that blocks the event loop; the innermost of the work that is awaited. If nothing runs, the gap has an owner by what is known
 * of it: the body arrives, the response is sent, code of a layer ran, or nobody knows (`idle`).
 */
import { endOf, SPAN_KINDS, type SpanDraft, type SpanKind, round } from './span.ts';

interface Interval {
  startMs: number;
  durationMs: number;
}

export interface Slice extends Interval {
  kind: SpanKind;
  owner: SpanDraft | null;
}

export interface TimeShare {
  kind: SpanKind;
  ms: number;
  count: number;
  allMs: number;
}

export interface TimeLedgerOptions {
  totalMs: number;
  loopIdleMs: number | null;
  isAlone: boolean;
  queuedMs?: number;
  sampledMs?: (fromMs: number, toMs: number) => number;
}

export interface TimeLedger {
  totalMs: number;
  /** How long the thread was ready to run and got no CPU. It is not known when, so it is part of other shares. */
  queuedMs: number;
  /** When the headers were sent; null before. */
  headersMs: number | null;
  spans: readonly SpanDraft[];
  slices: readonly Slice[];
  shares: readonly TimeShare[];
  /** Milliseconds of an interval that these kinds own. */
  ownedMs(within: Interval, kinds: readonly SpanKind[]): number;
}

/** A shorter request is not slow, whatever it lost. */
export const SLOW_MS = 100;
/** Outside of the request's time: in no slice and no share. */
export const OUTSIDE: readonly SpanKind[] = ['before', 'hindsight'];
/** While one of these owns the time, this process could not have read a result, however soon it was there. */
export const HELD: readonly SpanKind[] = ['app', 'middleware', 'view', 'collection', 'blocked'];
/** Awaited work of an earlier kind is inside of later ones more often than the other way round. */
const AWAITED: readonly SpanKind[] = ['db', 'out', 'connection', 'lock', 'socket', 'cache', 'work'];
/** Shorter gaps are between any two pieces of work; so are smaller shares of the request. */
const SHORTEST_GAP = 1;
const SMALLEST_GAP = 0.01;
/** Layers that read the body: while they wait, it arrives. */
const BODY_READERS = /^(?:json|urlencoded|text|raw)Parser$|^multerMiddleware$/;
/** A gap in which code ran, of this request or of another one. */
export const BUSY = 'unaccounted: the event loop was busy';
/** Express calls back one tick after an engine has rendered, when the handler has returned. */
const CALLED_BACK = 1;
/** Whatever runs meanwhile is inside of it. */
const OWN_CODE: readonly SpanKind[] = ['app', 'middleware'];

/** Code outside of any layer is the application's. */
function kindOfLayer(layer: SpanDraft | null): SpanKind {
  return layer?.kind ?? 'app';
}

interface Piece extends Interval {
  kind: SpanKind;
  span: SpanDraft;
  isRunning: boolean;
}

function lastStarted(pieces: readonly Piece[]): Piece | undefined {
  return pieces.reduce<Piece | undefined>(
    (last, piece) => (last === undefined || piece.startMs >= last.startMs ? piece : last),
    undefined,
  );
}

function ownerOf(active: readonly Piece[]): Piece | undefined {
  if (active.length < 2) return active[0];
  const collection = active.find(({ kind }) => kind === 'collection');
  if (collection !== undefined) return collection;
  const running = lastStarted(active.filter(({ isRunning }) => isRunning));
  if (running !== undefined) return running;
  const view = lastStarted(active.filter(({ kind }) => kind === 'view'));
  const block = active.find(({ span }) => span.global === true);
  if (block !== undefined) return block.kind === 'app' ? (view ?? block) : block;
  for (const kind of AWAITED) {
    const found = active.find(
      (piece) => piece.kind === kind && (view === undefined || piece.startMs >= view.startMs),
    );
    if (found !== undefined) return found;
  }
  return view ?? active[0];
}

function runningTimes(spans: readonly SpanDraft[]): Interval[] {
  const times: Interval[] = [];
  for (const { startMs, ranMs, isLayer } of spans) {
    if (isLayer !== true || ranMs === undefined) continue;
    const last = times.at(-1);
    if (last !== undefined && startMs <= endOf(last))
      last.durationMs = Math.max(last.durationMs, startMs + ranMs - last.startMs);
    else times.push({ startMs, durationMs: ranMs });
  }
  return times;
}

function piecesOf(spans: readonly SpanDraft[]): Piece[] {
  const running = runningTimes(spans);
  /** What ended before the function that started it returned was not awaited. */
  const isWithin = (startMs: number, endMs: number): boolean =>
    running.some((time) => time.startMs <= startMs && endMs <= endOf(time));
  return spans.flatMap((span): Piece[] => {
    const { kind, startMs, ranMs, isLayer, global } = span;
    if (OUTSIDE.includes(kind) || kind === 'sending') return [];
    if (isLayer === true)
      return ranMs === undefined ? [] : [{ kind, span, startMs, durationMs: ranMs, isRunning: true }];
    const endMs = endOf(span) - (kind === 'view' ? CALLED_BACK : 0);
    const isRunning = global !== true && (ranMs !== undefined || isWithin(startMs, endMs));
    const parts = span.parts ?? span.pieces?.map((piece) => ({ kind, ...piece })) ?? [span];
    return parts.map((part) => ({ kind: part.kind, span, startMs: part.startMs, durationMs: part.durationMs, isRunning })); // prettier-ignore
  });
}

interface Edge {
  at: number;
  piece: Piece;
  isEnd: boolean;
}

function edgesOf(pieces: readonly Piece[], totalMs: number): Edge[] {
  return pieces
    .flatMap((piece): Edge[] => {
      const from = Math.max(0, piece.startMs);
      const to = Math.min(totalMs, endOf(piece));
      if (to <= from) return [];
      return [
        { at: from, piece, isEnd: false },
        { at: to, piece, isEnd: true },
      ];
    })
    .sort((a, b) => a.at - b.at);
}

interface Stretch extends Interval {
  owner: Piece | undefined;
}

class Sums {
  readonly #spans = new Map<SpanKind, Set<SpanDraft>>();
  readonly #all = new Map<SpanKind, number>();
  readonly #owned = new Map<SpanKind, number>();

  ran({ kind, span }: Piece): void {
    const spans = this.#spans.get(kind) ?? new Set();
    this.#spans.set(kind, spans.add(span));
  }

  spend(kinds: ReadonlySet<SpanKind>, ms: number): void {
    for (const kind of kinds) this.#all.set(kind, (this.#all.get(kind) ?? 0) + ms);
  }

  owned({ kind, durationMs }: Slice): void {
    this.#owned.set(kind, (this.#owned.get(kind) ?? 0) + durationMs);
  }

  shares(): TimeShare[] {
    return (Object.keys(SPAN_KINDS) as SpanKind[])
      .map((kind): TimeShare => {
        const ms = this.#owned.get(kind) ?? 0;
        const isOwn = OWN_CODE.includes(kind);
        const count = [...(this.#spans.get(kind) ?? [])].reduce((sum, span) => sum + (span.count ?? 1), 0);
        return {
          kind,
          ms: round(ms),
          count,
          allMs: round(isOwn ? ms : Math.max(ms, this.#all.get(kind) ?? 0)),
        };
      })
      .filter(({ allMs }) => allMs > 0)
      .sort((a, b) => b.ms - a.ms);
  }
}

function sweep(pieces: readonly Piece[], totalMs: number, sums: Sums): Stretch[] {
  const stretches: Stretch[] = [];
  const active = new Set<Piece>();
  let last = 0;
  function spend(until: number): void {
    const durationMs = until - last;
    if (durationMs <= 0) return;
    const list = [...active];
    const owner = ownerOf(list);
    sums.spend(new Set(list.map(({ kind }) => kind)), durationMs);
    const before = stretches.at(-1);
    if (before !== undefined && before.owner === owner) before.durationMs += durationMs;
    else stretches.push({ owner, startMs: last, durationMs });
    last = until;
  }
  for (const { at, piece, isEnd } of edgesOf(pieces, totalMs)) {
    spend(at);
    if (isEnd) active.delete(piece);
    else {
      active.add(piece);
      sums.ran(piece);
    }
  }
  spend(totalMs);
  return stretches;
}

/** The innermost layer that had begun by then and not ended; null if there is none. */
export function layerAt(layers: readonly SpanDraft[], ms: number): SpanDraft | null {
  return layers.findLast((layer) => layer.startMs <= ms && endOf(layer) >= ms) ?? null;
}

function splitAt(gap: Interval, at: number | null): Interval[] {
  if (at === null || at <= gap.startMs || at >= endOf(gap)) return [gap];
  return [
    { startMs: gap.startMs, durationMs: at - gap.startMs },
    { startMs: at, durationMs: endOf(gap) - at },
  ];
}

export function createTimeLedger(recorded: readonly SpanDraft[], options: TimeLedgerOptions): TimeLedger {
  const { totalMs, loopIdleMs, isAlone, queuedMs = 0, sampledMs } = options;
  const headersMs = recorded.find(({ kind }) => kind === 'sending')?.startMs ?? null;
  const layers = recorded.filter(({ isLayer }) => isLayer === true);
  const shortest = Math.max(SHORTEST_GAP, totalMs * SMALLEST_GAP);
  const sums = new Sums();
  const gaps: SpanDraft[] = [];
  const slices: Slice[] = [];

  function isBusy({ startMs, durationMs }: Interval): boolean {
    if (sampledMs !== undefined && sampledMs(startMs, startMs + durationMs) > durationMs / 2) return true;
    return loopIdleMs !== null && loopIdleMs < durationMs / 2;
  }

  function gapOf(gap: Interval): { kind: SpanKind; label: string } | null {
    // Without layers, it is unknown when own code ran.
    if (gap.durationMs < shortest || layers.length === 0) return null;
    const { startMs } = gap;
    if (headersMs !== null && startMs >= headersMs) return { kind: 'sending', label: 'sending the response' };
    if (startMs < (layers[0]?.startMs ?? 0))
      return { kind: 'middleware', label: 'before the first middleware' };
    if (BODY_READERS.test(layerAt(layers, startMs)?.label ?? ''))
      return { kind: 'body', label: 'receiving the body' };
    if (!isBusy(gap)) return { kind: 'idle', label: 'unaccounted: code or waiting' };
    return isAlone ? null : { kind: 'idle', label: BUSY };
  }

  function add(slice: Slice): void {
    slices.push(slice);
    sums.owned(slice);
  }

  function addGap(gap: Interval): void {
    const parts = splitAt(gap, layers[0]?.startMs ?? null).flatMap((part) => splitAt(part, headersMs));
    for (const part of parts) {
      const what = gapOf(part);
      const layer = layerAt(layers, part.startMs);
      if (what === null) add({ ...part, kind: kindOfLayer(layer), owner: layer });
      else {
        const span: SpanDraft = { ...part, ...what };
        gaps.push(span);
        add({ ...part, kind: what.kind, owner: span });
      }
    }
  }

  for (const { owner, startMs, durationMs } of sweep(piecesOf(recorded), totalMs, sums)) {
    if (owner === undefined) addGap({ startMs, durationMs });
    else if (owner.kind === 'app' && owner.span.global === true) {
      const layer = layerAt(layers, startMs);
      add({ startMs, durationMs, kind: kindOfLayer(layer), owner: layer });
    } else add({ startMs, durationMs, kind: owner.kind, owner: owner.span });
  }
  let shares: TimeShare[] | null = null;
  return {
    totalMs,
    queuedMs,
    headersMs,
    spans: [...recorded.filter(({ kind }) => kind !== 'sending'), ...gaps],
    slices,
    get shares() {
      return (shares ??= sums.shares());
    },
    ownedMs(within, kinds) {
      return slices.reduce((sum, slice) => {
        const ms = Math.min(endOf(slice), endOf(within)) - Math.max(slice.startMs, within.startMs);
        return ms > 0 && kinds.includes(slice.kind) ? sum + ms : sum;
      }, 0);
    },
  };
}
