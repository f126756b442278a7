/**
 * Stored document -> the profile that pages see: the data of panels, and findings. A pure function: the same document gives the same
 * profile, whenever and in whichever process it is read. A panel that throws fails alone.
 */
import { STATUS_CODES } from 'node:http';
import type { EarlierRequest, FindingRule } from './finding-rule.ts';
import type { DeriveFrom, Panel } from './panel.ts';
import {
  type KeptPanel,
  type PanelRecord,
  type Profile,
  type ProfileDocument,
  type ProfileHead,
  SUMMARY_PANEL,
} from './profile.ts';
import type { MaskedValue } from './redact.ts';
import { createFindingRunner, type Findings } from './run-findings.ts';
import type { SpanDraft } from './span.ts';
import { describeError } from './thrown-value.ts';

/** A shared value, masked. */
export interface SharedValue {
  value: unknown;
  masked: MaskedValue[];
}

export interface ConcludeFrom {
  /** A shared value by its id; undefined if it is not available. */
  sharedOf: (id: string) => SharedValue | undefined;
  /** Names of the panels to show; default: all. With it, nothing is found. */
  shown?: readonly string[] | undefined;
  /** Earlier full requests of the route, the newest first; default: none. */
  earlier?: readonly EarlierRequest[] | undefined;
}

export interface Conclude {
  (document: ProfileDocument, from: ConcludeFrom): Profile;
  /** Whether a rule compares this request with earlier ones of its route. */
  needsEarlier(document: ProfileDocument): boolean;
}

const LOST = 'The part that this panel shares with other profiles is no longer stored.';
const NOTHING_RECORDED: PanelRecord = { data: null, summary: null, error: null };
const NOTHING_FOUND: Findings = { findings: [], left: 0 };

/** Ids of the shared values of a document. */
export function sharedIdsOf({ panels }: ProfileDocument): string[] {
  return Object.values(panels).flatMap(({ shared }) => (shared === undefined ? [] : [shared]));
}

/** A document of an earlier request, for rules that compare. */
export function earlierRequest(document: ProfileDocument): EarlierRequest {
  return { head: headOf(document), kept: keptOf(document) };
}

/** With the values that a document leaves out because they are empty, or the usual ones. */
function headOf(document: ProfileDocument): ProfileHead {
  const { parent, child, origin, status, statusMessage, route, durationMs, outcome, error } = document;
  return {
    version: document.version,
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

/** Stored data by panel; panels without any are absent. */
function keptOf({ panels }: ProfileDocument): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(panels).flatMap(([name, { data }]) =>
      data === undefined || data === null ? [] : [[name, data]],
    ),
  );
}

function spansOf(panel: Panel, kept: unknown, from: { profile: Profile; endMs: number }): SpanDraft[] {
  try {
    return kept === undefined || kept === null ? [] : (panel.spans?.(kept, from) ?? []);
  } catch {
    return [];
  }
}

function derivePanel(
  panel: Panel,
  kept: KeptPanel | undefined,
  profile: Profile,
  { sharedBy, spans }: { sharedBy: (panel: string) => SharedValue | undefined; spans: DeriveFrom['spans'] },
): PanelRecord {
  if (kept?.error !== undefined) return { data: null, summary: null, error: kept.error };
  try {
    const stored = kept?.data ?? null;
    const common = sharedBy(panel.name)?.value ?? null;
    if (panel.derive === undefined && kept?.shared !== undefined && common === null)
      return { data: null, summary: null, error: LOST };
    const data =
      panel.derive !== undefined
        ? panel.derive(stored, { profile, shared: common, spans })
        : common === null
          ? stored
          : { ...common, ...(stored ?? {}) };
    return { data, summary: data === null ? null : (panel.summary?.(data) ?? null), error: null };
  } catch (error) {
    const { name, message } = describeError(error);
    return { data: null, summary: null, error: `${name}: ${message}` };
  }
}

export function createConclude(panels: readonly Panel[], rules: readonly FindingRule[] = []): Conclude {
  const runner = createFindingRunner(panels, rules);

  /** Nobody but us can fix what the profiler's own pages do, and of a summary too little is known. */
  function isExamined({ kind, summary }: ProfileHead): boolean {
    return kind !== 'profiler' && kind !== 'error_page' && summary === null;
  }

  function conclude(document: ProfileDocument, { sharedOf, shown, earlier = [] }: ConcludeFrom): Profile {
    const head = headOf(document);
    const kept = keptOf(document);
    const shared = new Map<string, SharedValue | undefined>();
    // Read now: panels may use it much later, when a page is rendered.
    for (const [name, { shared: id }] of Object.entries(document.panels))
      if (id !== undefined) shared.set(name, sharedOf(id));
    const sharedBy = (name: string): SharedValue | undefined => shared.get(name);
    const found =
      shown === undefined && isExamined(head)
        ? runner.find(
            { kept, shared: Object.fromEntries([...shared].map(([name, part]) => [name, part?.value])) },
            head,
            { usualMs: head.usualMs ?? null, earlier },
          )
        : NOTHING_FOUND;
    const stored: Record<string, PanelRecord> = {};
    for (const [name, { data = null, error = null }] of Object.entries(document.panels))
      stored[name] = { data, summary: null, error };
    const masked = [...(document.masked ?? [])];
    const profile: Profile = {
      ...head,
      panels: stored,
      findings: found.findings,
      findingsLeft: found.left === 0 ? undefined : found.left,
      dropped: document.dropped ?? {},
      masked,
    };
    const spans = (endMs: number): SpanDraft[] =>
      panels.flatMap((panel) => spansOf(panel, document.panels[panel.name]?.data, { profile, endMs }));
    const derived: Record<string, PanelRecord> = {};
    for (const panel of panels) {
      if (shown?.includes(panel.name) === false) continue;
      if (head.summary !== null && panel.name !== SUMMARY_PANEL) {
        derived[panel.name] = NOTHING_RECORDED;
        continue;
      }
      derived[panel.name] = derivePanel(panel, document.panels[panel.name], profile, { sharedBy, spans });
      for (const { where, rule } of sharedBy(panel.name)?.masked ?? [])
        masked.push({ where: `panels.${panel.name}.data.${where}`, rule });
    }
    return { ...profile, panels: shown === undefined ? { ...stored, ...derived } : derived };
  }

  return Object.assign(conclude, {
    needsEarlier(document: ProfileDocument) {
      const head = headOf(document);
      return head.route !== null && isExamined(head) && runner.compares(keptOf(document), head);
    },
  });
}
