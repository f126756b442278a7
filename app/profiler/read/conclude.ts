/**
 * Stored document -> the profile that pages see: the data of panels, and findings. A pure function: the same document gives the same
 * profile, whenever and in whichever process it is read. A panel that throws fails alone.
 */
import type { Finding } from './finding.ts';
import type { EarlierRequest, FindingRule } from './finding-rule.ts';
import { type Panel, storedFactsOf } from '../panel.ts';
import {
  type PanelRecord,
  type Profile,
  type ProfileDocument,
  type ProfileHead,
  SUMMARY_PANEL,
} from '../profile.ts';
import { type FactReader, readFacts } from '../record/recorded-facts.ts';
import type { MaskedValue } from '../masking/redact.ts';
import { createFindingRunner, type Findings, type SeenPanels } from './run-findings.ts';
import type { KeptCpu } from '../record/cpu-samples.ts';
import { callTree, isSampled } from './cpu-tree.ts';
import type { SpanDraft } from './span.ts';
import { createTimeLedger, type TimeLedger } from './time-ledger.ts';
import { describeError } from '../record/thrown-value.ts';
import { STATUS_CODES } from '../../node-http.ts';
import { atOnce, inTurns, type Steps } from '../turns.ts';

export interface SharedValue {
  value: unknown;
  masked: MaskedValue[];
}

export interface ConcludeFrom {
  sharedOf: (id: string) => SharedValue | undefined;
  shown?: readonly string[] | undefined;
  earlier?: readonly EarlierRequest[] | undefined;
  siblings?: readonly EarlierRequest[] | undefined;
  overlapping?: readonly EarlierRequest[] | undefined;
  reported?: ReadonlyMap<string, EarlierRequest> | undefined;
}

export interface Conclude {
  (document: ProfileDocument, from: ConcludeFrom): Profile;
  /** For readers: the host's requests run between rules and panels. */
  inTurns(document: ProfileDocument, from: ConcludeFrom): Promise<Profile>;
  findingsInTurns(document: ProfileDocument, from: ConcludeFrom): Promise<Finding[]>;
  isExamined(document: Pick<ProfileDocument, 'kind' | 'summary'>): boolean;
  asks(document: ProfileDocument): Record<'earlier' | 'siblings' | 'overlapping', boolean>;
  earlierRequest(document: ProfileDocument): EarlierRequest;
}

interface KeptProcess {
  durationMs?: number;
  loopUtilization?: number;
  concurrent?: number;
  queuedMs?: number;
}

const LOST = 'The part that this panel shares with other profiles is no longer stored.';
const NOTHING_RECORDED: PanelRecord = { data: null, summary: null, error: null };
const NO_REQUESTS: ReadonlyMap<string, EarlierRequest> = new Map();
const NOTHING_FOUND: Findings = { findings: [], left: 0 };

export function sharedIdsOf({ panels }: ProfileDocument): string[] {
  return Object.values(panels).flatMap(({ shared }) => (shared === undefined ? [] : [shared]));
}

function headOf(document: ProfileDocument): ProfileHead {
  const { parent, child, origin, status, statusMessage, route, durationMs, outcome, error } = document;
  return {
    token: document.token,
    kind: document.kind,
    state: document.state,
    method: document.method,
    url: document.url,
    clientAddress: document.clientAddress,
    requestId: document.requestId,
    trace: document.trace,
    startedAt: document.startedAt,
    usualMs: document.usualMs,
    endedProcess: document.endedProcess,
    process: document.process,
    parent: parent ?? null,
    child: child ?? null,
    origin: origin ?? null,
    status: status ?? null,
    statusMessage: statusMessage ?? STATUS_CODES[status ?? 0] ?? '',
    outcome: outcome ?? 'finished',
    route: route ?? null,
    durationMs: durationMs ?? null,
    summary: document.summary ?? null,
    release: document.release ?? null,
    error: error ?? null,
  };
}

function collectedIn({ panels }: ProfileDocument): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(panels).flatMap(([name, { data }]) =>
      data === undefined || data === null ? [] : [[name, data]],
    ),
  );
}

/** One reading of a document: data of panels is made when something first needs it. */
class Reading {
  readonly profile: Profile;
  readonly #document: ProfileDocument;
  readonly #panels: readonly Panel[];
  readonly #facts: FactReader;
  readonly #shared = new Map<string, SharedValue | undefined>();
  readonly #made = new Map<string, PanelRecord>();
  #time: TimeLedger | null = null;

  constructor(document: ProfileDocument, panels: readonly Panel[], sharedOf: ConcludeFrom['sharedOf']) {
    this.#document = document;
    this.#panels = panels;
    this.#facts = readFacts(document);
    const stored: Record<string, PanelRecord> = {};
    const masked = [...(document.masked ?? [])];
    for (const [name, { data = null, error = null, shared }] of Object.entries(document.panels)) {
      stored[name] = { data, summary: null, error };
      const value = shared === undefined ? undefined : sharedOf(shared);
      this.#shared.set(name, value);
      for (const { where, rule } of value?.masked ?? [])
        masked.push({ where: `panels.${name}.data.${where}`, rule });
    }
    this.profile = {
      ...headOf(document),
      panels: stored,
      findings: [],
      dropped: document.dropped ?? {},
      masked,
    };
  }

  kept(panel: Panel): unknown {
    return storedFactsOf(panel).length === 0
      ? (this.#document.panels[panel.name]?.data ?? null)
      : this.record(panel).data;
  }

  seen(): SeenPanels {
    const kept = collectedIn(this.#document);
    for (const panel of this.#panels) {
      const data = storedFactsOf(panel).length === 0 ? null : this.kept(panel);
      if (data !== null) kept[panel.name] = data;
    }
    return { kept, shared: Object.fromEntries([...this.#shared].map(([name, part]) => [name, part?.value])) };
  }

  /** Made when something first asks: most rules need no times. */
  get time(): TimeLedger {
    return (this.#time ??= this.#makeTime());
  }

  #makeTime(): TimeLedger {
    const { runtime, request, cpu } = this.#document.panels as Record<string, { data?: unknown } | undefined>;
    const process = (runtime?.data ?? {}) as KeptProcess;
    const { response } = (request?.data ?? {}) as { response?: { headersAtMs?: number | null } };
    // A request that still runs ends with its last recorded work.
    const totalMs = this.profile.durationMs ?? process.durationMs ?? response?.headersAtMs ?? 0;
    const samples = cpu?.data as KeptCpu | undefined;
    return createTimeLedger(this.#spans(totalMs), {
      totalMs,
      loopIdleMs: process.loopUtilization === undefined ? null : (1 - process.loopUtilization) * totalMs,
      isAlone: process.concurrent === 1,
      queuedMs: process.queuedMs,
      ...(isSampled(samples)
        ? { sampledMs: (from: number, to: number) => callTree(samples, [from, to]).totalUs / 1000 }
        : {}),
    });
  }

  #spans(endMs: number): SpanDraft[] {
    return this.#panels.flatMap((panel) => {
      try {
        const kept = panel.recorded?.spans === undefined ? null : this.kept(panel);
        return kept === null ? [] : (panel.recorded?.spans?.(kept, { profile: this.profile, endMs }) ?? []);
      } catch {
        return [];
      }
    });
  }

  record(panel: Panel): PanelRecord {
    const known = this.#made.get(panel.name);
    if (known !== undefined) return known;
    const made = this.#make(panel);
    this.#made.set(panel.name, made);
    return made;
  }

  #make(panel: Panel): PanelRecord {
    const { data: collected = null, error, shared: id } = this.#document.panels[panel.name] ?? {};
    if (error !== undefined) return { data: null, summary: null, error };
    const shared = this.#shared.get(panel.name)?.value ?? null;
    if (panel.data === undefined && id !== undefined && shared === null)
      return { data: null, summary: null, error: LOST };
    try {
      const { profile } = this;
      const time = (): TimeLedger => this.time;
      const data =
        panel.data === undefined
          ? joined(collected, shared)
          : panel.data({
              ...this.#facts,
              collected,
              shared,
              profile,
              get time() {
                return time();
              },
            });
      return {
        data,
        summary: data === null ? null : (panel.menu?.summary?.(data, profile) ?? null),
        error: null,
      };
    } catch (failure) {
      const { name, message } = describeError(failure);
      return { data: null, summary: null, error: `${name}: ${message}` };
    }
  }
}

function joined(collected: unknown, shared: unknown): unknown {
  return shared === null ? collected : { ...shared, ...(collected ?? {}) };
}

export function createConclude(
  panels: readonly Panel[],
  rules: readonly FindingRule[],
  warn: (sentence: string) => void,
): Conclude {
  const runner = createFindingRunner(rules, warn);

  /** Nobody but us can fix what the profiler's own pages do, and of a summary too little is known. */
  function isExamined({ kind, summary = null }: Pick<ProfileDocument, 'kind' | 'summary'>): boolean {
    return kind !== 'profiler' && kind !== 'error_page' && summary === null;
  }

  function* find(
    reading: Reading,
    { earlier = [], siblings = [], overlapping = [], reported = NO_REQUESTS }: Omit<ConcludeFrom, 'sharedOf'>,
  ): Steps<Findings> {
    const { profile } = reading;
    if (!isExamined(profile)) return NOTHING_FOUND;
    const { kept, shared } = reading.seen();
    return yield* runner.find(kept, profile, {
      shared,
      usualMs: profile.usualMs ?? null,
      earlier,
      siblings,
      overlapping,
      reported,
      get time() {
        return reading.time;
      },
    });
  }

  function* steps(document: ProfileDocument, from: ConcludeFrom): Steps<Profile> {
    const { sharedOf, shown } = from;
    const reading = new Reading(document, panels, sharedOf);
    const { profile } = reading;
    const { findings, left } = shown === undefined ? yield* find(reading, from) : NOTHING_FOUND;
    profile.findings = findings;
    if (left > 0) profile.findingsLeft = left;
    const made: Record<string, PanelRecord> = {};
    for (const panel of panels) {
      if (shown?.includes(panel.name) === false) continue;
      const isUnknown = profile.summary !== null && panel.name !== SUMMARY_PANEL;
      made[panel.name] = isUnknown ? NOTHING_RECORDED : reading.record(panel);
      yield;
    }
    return { ...profile, panels: shown === undefined ? { ...profile.panels, ...made } : made };
  }

  function* findings(document: ProfileDocument, from: ConcludeFrom): Steps<Finding[]> {
    return (yield* find(new Reading(document, panels, from.sharedOf), from)).findings;
  }

  const conclude = (document: ProfileDocument, from: ConcludeFrom): Profile => atOnce(steps(document, from));
  return Object.assign(conclude, {
    isExamined,
    inTurns: (document: ProfileDocument, from: ConcludeFrom) => inTurns(steps(document, from)),
    findingsInTurns: (document: ProfileDocument, from: ConcludeFrom) => inTurns(findings(document, from)),
    asks(document: ProfileDocument) {
      const reading = new Reading(document, panels, () => undefined);
      const { profile } = reading;
      if (!isExamined(profile)) return { earlier: false, siblings: false, overlapping: false };
      const { kept } = reading.seen();
      return {
        earlier: (profile.route !== null || profile.kind === 'job') && runner.asks('compares', kept, profile),
        siblings: runner.asks('relates', kept, profile),
        overlapping: runner.asks('overlaps', kept, profile),
      };
    },
    earlierRequest(document: ProfileDocument): EarlierRequest {
      return { head: headOf(document), kept: new Reading(document, panels, () => undefined).seen().kept };
    },
  });
}
