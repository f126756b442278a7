/** Stored document -> the profile that pages see: empty and derived values are added. A panel that throws fails alone. */
import { STATUS_CODES } from 'node:http';
import { describeError } from './thrown-value.ts';
import type { DeriveFrom, Panel } from './panel.ts';
import { type PanelRecord, type KeptPanel, type Profile, type ProfileDocument } from './profile.ts';
import type { SpanDraft } from './span.ts';
import type { MaskedValue } from './redact.ts';

/** A shared value, masked. */
export interface SharedValue {
  value: unknown;
  masked: MaskedValue[];
}

export interface CompleteOptions {
  panels: readonly Panel[];
  /** Names of the panels to complete; default: all. */
  shown?: readonly string[];
  /** A shared value by its id; undefined if it is not available. */
  sharedOf: (id: string) => SharedValue | undefined;
}

/** Ids of the shared values of a document. */
export function sharedIdsOf({ panels }: ProfileDocument): string[] {
  return Object.values(panels).flatMap(({ shared }) => (shared === undefined ? [] : [shared]));
}

const LOST = 'The part that this panel shares with other profiles is no longer stored.';

function spansOf(panel: Panel, kept: unknown, from: { profile: Profile; endMs: number }): SpanDraft[] {
  try {
    return kept === undefined || kept === null ? [] : (panel.spans?.(kept, from) ?? []);
  } catch {
    return [];
  }
}

function completePanel(
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
        ? panel.derive(stored, {
            profile,
            shared: common,
            lost: kept?.shared !== undefined && common === null,
            sharedOf: (name) => sharedBy(name)?.value ?? null,
            spans,
          })
        : common === null
          ? stored
          : { ...common, ...(stored ?? {}) };
    return { data, summary: data === null ? null : (panel.summary?.(data) ?? null), error: null };
  } catch (error) {
    const { name, message } = describeError(error);
    return { data: null, summary: null, error: `${name}: ${message}` };
  }
}

export function completeProfile(
  document: ProfileDocument,
  { panels, shown, sharedOf }: CompleteOptions,
): Profile {
  const kept: Record<string, PanelRecord> = {};
  for (const [name, { data = null, error = null }] of Object.entries(document.panels))
    kept[name] = { data, summary: null, error };
  const { parent, child, origin, status, statusMessage, route, durationMs, outcome, error } = document;
  const profile: Profile = {
    ...document,
    parent: parent ?? null,
    child: child ?? null,
    origin: origin ?? null,
    status: status ?? null,
    statusMessage: statusMessage ?? STATUS_CODES[status ?? 0] ?? '',
    outcome: outcome ?? 'finished',
    route: route ?? null,
    durationMs: durationMs ?? null,
    storedBecause: document.storedBecause ?? null,
    release: document.release ?? null,
    error: error ?? null,
    panels: kept,
    findings: document.findings ?? [],
    dropped: document.dropped ?? {},
    masked: document.masked ?? [],
  };
  // Read now: panels may use it much later, when a page is rendered.
  const shared = new Map<string, SharedValue | undefined>();
  for (const [name, { shared: id }] of Object.entries(document.panels))
    if (id !== undefined) shared.set(name, sharedOf(id));
  const sharedBy = (name: string): SharedValue | undefined => shared.get(name);
  const spans = (endMs: number): SpanDraft[] =>
    panels.flatMap((panel) => spansOf(panel, document.panels[panel.name]?.data, { profile, endMs }));
  const complete: Record<string, PanelRecord> = {};
  const masked = [...profile.masked];
  for (const panel of panels) {
    if (shown?.includes(panel.name) === false) continue;
    complete[panel.name] = completePanel(panel, document.panels[panel.name], profile, { sharedBy, spans });
    for (const { where, rule } of sharedBy(panel.name)?.masked ?? [])
      masked.push({ where: `panels.${panel.name}.data.${where}`, rule });
  }
  return { ...profile, panels: shown === undefined ? { ...kept, ...complete } : complete, masked };
}
