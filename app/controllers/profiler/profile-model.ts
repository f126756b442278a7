/** A profile -> the view model of its page: which panel, the menu with summaries, the title. */
import type { RuleTexts } from '../../profiler/finding-rule.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary, Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { Redirects } from './redirects.ts';
import type { Standing } from '../../profiler/route-summary.ts';
import { type PanelShown, panelShown } from './panel-shown.ts';
import { createFindingsModel, type FindingsModel } from './findings-model.ts';

export interface MenuItem {
  name: string;
  title: string;
  summary: PanelSummary | null;
  /** Pressed after `g`. */
  key: string | null;
}

export interface ProfileModel {
  title: string;
  profile: Profile;
  /** Late facts beside it, by name. */
  amendments: Readonly<Record<string, unknown>>;
  /** For forms that change something. */
  csrf: string;
  children: readonly ProfileIndex[];
  redirects: Redirects;
  /** What requests of its route took before it; null where there are too few to tell. */
  standing: Standing | null;
  panel: Panel;
  shown: PanelShown;
  menu: { main: MenuItem[]; more: MenuItem[]; empty: MenuItem[] };
  findings: FindingsModel;
  /** Of the panels by name. */
  titles: Readonly<Record<string, string>>;
  /** GET parameters as they came. */
  query: Readonly<Record<string, string>>;
  /** Kind of work kept in colour in the strip; null: all. */
  kind: string | null;
  foot: readonly string[];
}

const TITLE_LENGTH = 160;

/** A panel that a stored profile has and this process does not know: shown as plain data. */
function unknownPanel(name: string): Panel {
  return { name, title: name, collect: () => null };
}

/** The panels of a page in order: those of the process, then what else the profile holds. */
export function panelsOf(profile: Profile, known: readonly Panel[]): Panel[] {
  const names = new Set(known.map(({ name }) => name));
  const others = Object.keys(profile.panels).filter((name) => !names.has(name));
  return [...known, ...others.map(unknownPanel)];
}

export function hasContent(profile: Profile, name: string): boolean {
  const record = profile.panels[name];
  return record !== undefined && (record.data !== null || record.error !== null);
}

export function defaultPanel(profile: Profile): string {
  return hasContent(profile, 'exception') ? 'exception' : 'request';
}

function itemOf(profile: Profile, { name, title, key }: Panel): MenuItem {
  const record = profile.panels[name];
  const failed: PanelSummary = { text: 'failed', tone: 'bad' };
  const summary = record === undefined ? null : record.error === null ? record.summary : failed;
  return { name, title, summary, key: key ?? null };
}

function menuOf(profile: Profile, panels: readonly Panel[]): ProfileModel['menu'] {
  const menu: ProfileModel['menu'] = { main: [], more: [], empty: [] };
  for (const panel of panels) {
    const item = itemOf(profile, panel);
    if (!hasContent(profile, panel.name)) menu.empty.push(item);
    else if (panel.group === 'process') menu.more.push(item);
    else if (panel.name === 'exception') menu.main.unshift(item);
    else menu.main.push(item);
  }
  return menu;
}

function cut(text: string): string {
  return text.length > TITLE_LENGTH ? `${text.slice(0, TITLE_LENGTH)}…` : text;
}

function titleOf(profile: Profile, panel: Panel): string {
  if (profile.error !== null && panel.name === 'exception')
    return `${cut(profile.error.message)} (${profile.status ?? 'no answer'})`;
  return `${cut(`${profile.method} ${profile.url.replace(/\?.*$/s, '')}`)}: ${panel.title.toLowerCase()}`;
}

/** Requests from which on their percentiles say something. */
const FEWEST = 5;

export function createProfileModel(options: {
  profile: Profile;
  amendments: ProfileModel['amendments'];
  csrf: string;
  children: readonly ProfileIndex[];
  redirects: Redirects;
  standing: Standing | null;
  panels: readonly Panel[];
  panel: Panel;
  query: URLSearchParams;
  foot: readonly string[];
  /** Of the rules by which findings are made. */
  rules: RuleTexts;
}): ProfileModel {
  const { profile, amendments, csrf, children, redirects, standing, panels, panel, query, foot, rules } =
    options;
  const given = Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(query));
  return {
    title: titleOf(profile, panel),
    profile,
    amendments,
    csrf,
    children,
    redirects,
    standing: standing === null || standing.count < FEWEST ? null : standing,
    panel,
    shown: panelShown(panel, { profile, query: given, amendments }),
    menu: menuOf(profile, panels),
    findings: createFindingsModel(profile, rules, amendments),
    titles: Object.fromEntries(panels.map(({ name, title: text }) => [name, text])),
    query: given,
    kind: panel.spanKind ?? null,
    foot,
  };
}
