/** A stored profile, already masked -> what the toolbar shows. */
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { RuleTexts } from '../../profiler/read/finding-rule.ts';
import type { Panel, PresentFrom } from '../../profiler/panel.ts';
import type { PanelSummary, Profile } from '../../profiler/profile.ts';
import { shorten } from '../../profiler/read/span.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import { type Card, rowsCard } from '../../render/rows-card.ts';
import { urls } from '../../urls.ts';
import { createFindingsModel } from './findings-model.ts';
import { OVERVIEW } from './profile-model.ts';
import type { PageCalls } from './page-calls.ts';

/** A redirect that led to the page: its row, and its profile if it is still stored. */
export interface RedirectStep {
  row: ProfileIndex;
  found: FoundProfile | null;
}

const MOST_FINDINGS = 5;
const MOST_STEP_FINDINGS = 3;
const MOST_FACTS = 8;
const LONGEST_URL = 500;
const LONGEST_TEXT = 200;
const LONGEST_LABEL = 60;
const DEFAULT_RANK = 50;

function rowHref(token: string, panel: string, row: string | undefined): string {
  return row === undefined ? urls.profile(token, panel) : urls.profileRow(token, panel, row);
}

function cardOf(panel: Panel, from: PresentFrom): Card | null {
  try {
    const data = from.profile.panels[panel.name]?.data ?? null;
    return data === null || panel.rows === undefined ? null : rowsCard(panel.rows(data, from));
  } catch {
    return null;
  }
}

function itemOf({ name, title, menu = {} }: Panel, profile: Profile, card: Card | undefined) {
  const record = profile.panels[name];
  const { rank = DEFAULT_RANK, label = title.toLowerCase(), onlyWhenWrong = false } = menu;
  if (record === undefined || rank === false) return null;
  const { token } = profile;
  const failed: PanelSummary = { text: 'failed', tone: 'bad' };
  const summary = record.error === null ? record.summary : failed;
  const text = record.error === null ? (card?.text ?? summary?.text) : failed.text;
  const tone = card?.tone ?? summary?.tone ?? 'plain';
  if (text === undefined || (onlyWhenWrong && tone === 'plain')) return null;
  const { facts = [], rows = [], more = 0 } = card ?? {};
  return {
    panel: name,
    rank,
    label: shorten(label, LONGEST_LABEL),
    title: shorten(title, LONGEST_LABEL),
    text: shorten(text, LONGEST_LABEL),
    tone,
    href: urls.profile(token, name),
    preview: {
      facts: facts
        .slice(0, MOST_FACTS)
        .map(([label, value]): [string, string] => [
          shorten(label, LONGEST_LABEL),
          shorten(value, LONGEST_TEXT),
        ]),
      rows: rows.map((row) => ({
        text: shorten(row.text, LONGEST_TEXT),
        note: shorten(row.note, LONGEST_TEXT),
        tone: row.tone,
        href: rowHref(token, name, row.row),
      })),
      more,
    },
  };
}

function findingsOf({ profile, amendments }: Pick<FoundProfile, 'profile' | 'amendments'>, rules: RuleTexts) {
  const { shown, folded, left } = createFindingsModel(profile, rules, amendments);
  const all = [...shown, ...folded].map(({ severity, label, sentence, panel, anchor }) => ({
    severity,
    label: shorten(label, LONGEST_LABEL),
    text: shorten(sentence, 2 * LONGEST_TEXT),
    href: rowHref(profile.token, panel, anchor),
  }));
  return { all, left };
}

function stepOf({ row, found }: RedirectStep, rules: RuleTexts) {
  const { token, method, url, status, durationMs } = row;
  return {
    token,
    method,
    url: shorten(url, LONGEST_URL),
    status,
    durationMs,
    href: urls.profile(token),
    findings: found === null ? [] : findingsOf(found, rules).all.slice(0, MOST_STEP_FINDINGS),
  };
}

/** `toolbar.json`. Every href starts at the root of the service. */
export function createToolbarModel(options: {
  profile: Profile;
  amendments: PresentFrom['amendments'];
  panels: readonly Panel[];
  rules: RuleTexts;
  cameFrom: readonly RedirectStep[];
  calls: PageCalls;
}) {
  const { profile, amendments, panels, rules, cameFrom, calls } = options;
  const { token, kind, method, url, status, statusMessage, route, state, startedAt, durationMs } = profile;
  const { all: findings, left } = findingsOf({ profile, amendments }, rules);
  const handled = dataOf(profile, 'routing')?.route ?? null;
  const cards = new Map(
    panels.flatMap((panel): [string, Card][] => {
      const card = cardOf(panel, { profile, amendments });
      return card === null ? [] : [[panel.name, card]];
    }),
  );
  return {
    token,
    kind,
    method,
    url: shorten(url, LONGEST_URL),
    status,
    statusText: statusMessage,
    route,
    handler: handled?.source ?? handled?.handler ?? null,
    state,
    startedAt,
    durationMs,
    href: urls.profile(token, OVERVIEW),
    parts: [...cards.values()].flatMap(({ parts }) => [...parts]),
    findings: findings.slice(0, MOST_FINDINGS),
    moreFindings: Math.max(0, findings.length - MOST_FINDINGS) + left,
    items: panels
      .flatMap((panel) => itemOf(panel, profile, cards.get(panel.name)) ?? [])
      .sort((a, b) => a.rank - b.rank),
    cameFrom: cameFrom.map((step) => stepOf(step, rules)),
    ...calls,
  };
}

export type ToolbarModel = ReturnType<typeof createToolbarModel>;
