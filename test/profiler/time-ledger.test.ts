import { expect } from 'chai';
import type { SpanDraft, SpanKind } from '../../app/profiler/read/span.ts';
import { createTimeLedger, type TimeLedgerOptions } from '../../app/profiler/read/time-ledger.ts';

type Given = Partial<SpanDraft> & Pick<SpanDraft, 'kind' | 'startMs' | 'durationMs'>;

function span(kind: SpanKind, startMs: number, durationMs: number, more: Partial<SpanDraft> = {}): Given {
  return { kind, startMs, durationMs, ...more };
}

/** A handler that ran from 0 to 1 without a break, and waits until the end. */
const HANDLER = span('app', 0, 100, { isLayer: true, ranMs: 1, label: 'show' });
const GLOBAL = { global: true } as const;

function ledger(spans: readonly Given[], options: Partial<TimeLedgerOptions> = {}) {
  const drafts = spans.map((given): SpanDraft => ({ label: given.kind, ...given }));
  return createTimeLedger(drafts, { totalMs: 100, loopIdleMs: null, isAlone: true, ...options });
}

function owners(spans: readonly Given[], options: Partial<TimeLedgerOptions> = {}): string[] {
  return ledger(spans, options).slices.map(({ kind, startMs, durationMs }) => `${kind} ${startMs}–${startMs + durationMs}`); // prettier-ignore
}

describe('the ledger of time', () => {
  it('gives each millisecond to one owner, from the start to the end', () => {
    const spans = [
      HANDLER,
      span('db', 10, 30),
      span('out', 20, 40),
      span('view', 70, 20),
      span('work', 5, 90),
    ];
    const { slices, shares } = ledger(spans);
    let at = 0;
    for (const { startMs, durationMs } of slices) {
      expect(startMs).to.equal(at);
      at += durationMs;
    }
    expect(at).to.equal(100);
    expect(shares.reduce((sum, { ms }) => sum + ms, 0)).to.equal(100);
    expect(owners(spans)).to.deep.equal([
      'app 0–1', 'idle 1–5', 'work 5–10', 'db 10–40', 'out 40–60', 'work 60–70', 'view 70–90', 'work 90–95', 'idle 95–100',
    ]); // prettier-ignore
  });

  it('knows of work that others own all of', () => {
    const { shares } = ledger([HANDLER, span('db', 10, 80), span('connection', 10, 80)]);
    expect(shares.find(({ kind }) => kind === 'connection')).to.deep.include({ ms: 0, allMs: 80 });
  });

  it('counts a blocked loop for others if another request blocked it, and for its own code if it did', () => {
    const query = span('db', 10, 80);
    expect(owners([HANDLER, query, span('blocked', 20, 50, GLOBAL)])).to.include('blocked 20–70');
    expect(owners([HANDLER, query, span('app', 20, 50, GLOBAL)])).to.include('app 20–70');
    // The page was rendered while the statement ran.
    expect(owners([HANDLER, query, span('view', 20, 50), span('app', 20, 50, GLOBAL)])).to.include(
      'view 20–70',
    );
  });

  it('counts synchronous code before what it did not wait for, and what it did wait for as that', () => {
    const handler = span('app', 0, 100, { isLayer: true, ranMs: 50 });
    expect(owners([handler, span('db', 1, 90)])).to.deep.equal(['app 0–50', 'db 50–91', 'idle 91–100']);
    // It ended before the handler returned: its library ran it without a break.
    expect(owners([handler, span('db', 10, 30)])).to.include('db 10–40');
    expect(owners([HANDLER, span('db', 20, 40, { ranMs: 40 }), span('app', 20, 40, GLOBAL)])).to.include(
      'db 20–60',
    );
  });

  it('counts what a template waits for as that, and what merely ran meanwhile for the template', () => {
    expect(owners([HANDLER, span('view', 10, 50), span('db', 20, 10)])).to.include('db 20–30');
    expect(owners([HANDLER, span('db', 5, 60), span('view', 10, 50)])).to.include('view 10–60');
  });

  it('counts a template that is rendered at once for the template, though its end is told a tick later', () => {
    const handler = span('app', 0, 61, { isLayer: true, ranMs: 60 });
    expect(owners([handler, span('view', 10, 50.4)])).to.include('view 10–60.4');
    expect(owners([handler, span('view', 10, 80)])).to.include('app 0–60');
  });

  it('tells the waits for a connection, a socket and a lock apart', () => {
    const call = span('out', 40, 30, { parts: [
      { kind: 'socket', startMs: 40, durationMs: 10 }, { kind: 'out', startMs: 50, durationMs: 20 },
    ] }); // prettier-ignore
    const query = span('db', 10, 20, { parts: [
      { kind: 'lock', startMs: 10, durationMs: 15 }, { kind: 'db', startMs: 25, durationMs: 5 },
    ] }); // prettier-ignore
    expect(owners([HANDLER, span('connection', 1, 9), query, call])).to.include.members([
      'connection 1–10', 'lock 10–25', 'db 25–30', 'socket 40–50', 'out 50–70',
    ]); // prettier-ignore
  });

  it('calls a gap own code if the loop had work, and nobody’s if another request may have had it', () => {
    expect(owners([HANDLER], { loopIdleMs: 90 })).to.deep.equal(['app 0–1', 'idle 1–100']);
    expect(owners([HANDLER], { loopIdleMs: 5 })).to.deep.equal(['app 0–1', 'app 1–100']);
    expect(owners([HANDLER], { loopIdleMs: 5, isAlone: false })).to.deep.equal(['app 0–1', 'idle 1–100']);
    expect(owners([HANDLER], { loopIdleMs: 90, sampledMs: () => 80 })).to.deep.equal([
      'app 0–1',
      'app 1–100',
    ]);
  });

  it('says how much of an interval some kinds own', () => {
    const time = ledger([HANDLER, span('db', 10, 80), span('collection', 20, 60, GLOBAL)]);
    expect(time.ownedMs({ startMs: 10, durationMs: 80 }, ['collection'])).to.equal(60);
    expect(time.ownedMs({ startMs: 30, durationMs: 10 }, ['db'])).to.equal(0);
  });

  it('takes a thousand parallel spans', () => {
    const spans = Array.from({ length: 1000 }, (_, at) => span('db', 10 + at / 100, 50));
    expect(ledger([HANDLER, ...spans]).shares[0]).to.deep.include({ kind: 'db', ms: 59.99, count: 1000 });
  });
});
