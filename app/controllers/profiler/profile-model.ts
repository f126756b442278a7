/** What pages and files of a profile have in common: its panels and findings, the menu with summaries, the title. */
import { isWork } from '../../profiler/record/context.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary, Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import { shorten } from '../../profiler/read/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { withHistory } from './finding-history.ts';
import { createFindingsModel, type FindingsModel } from './findings-model.ts';
import type { PageServices } from './page-services.ts';

export const OVERVIEW = 'overview';
const TITLE_LENGTH = 160;

function unknownPanel(name: string): Panel {
  return { name, title: name };
}

function panelsOf(profile: Profile, installed: readonly Panel[]): Panel[] {
  const names = new Set(installed.map(({ name }) => name));
  const others = Object.keys(profile.panels).filter((name) => !names.has(name));
  return [...installed, ...others.map(unknownPanel)];
}

export interface ShownProfile extends Pick<FoundProfile, 'profile' | 'amendments'> {
  panels: readonly Panel[];
  findings: FindingsModel;
}

export async function readShown(
  services: Pick<PageServices, 'profiles' | 'panels' | 'rules'>,
  found: Pick<FoundProfile, 'profile' | 'amendments'>,
): Promise<ShownProfile> {
  const { amendments } = found;
  const profile = await withHistory(services, found.profile);
  return {
    profile,
    amendments,
    panels: panelsOf(profile, services.panels),
    findings: createFindingsModel(profile, services.rules, amendments),
  };
}

export function hasContent(profile: Profile, name: string): boolean {
  const record = profile.panels[name];
  return record !== undefined && (record.data !== null || record.error !== null);
}

export function droppedTexts(
  dropped: Profile['dropped'],
  panels: readonly Panel[],
  except?: Panel,
): string[] {
  const nouns = new Map(panels.flatMap(({ recorded }) => Object.entries(recorded?.facts ?? {})));
  return Object.entries(dropped)
    .filter(([name, count]) => count > 0 && except?.recorded?.facts?.[name] === undefined)
    .map(([name, count]) => `${numberHelpers.count(count)} ${nouns.get(name) ?? `“${name}”`}`);
}

/** What an address without a panel shows; a host may have left the overview out. */
export function defaultPanel(profile: Profile, panels: readonly Panel[]): string {
  if (panels.some(({ name }) => name === OVERVIEW) && hasContent(profile, OVERVIEW)) return OVERVIEW;
  if (hasContent(profile, 'exception')) return 'exception';
  return profile.kind === 'job' ? 'jobs' : profile.kind === 'command' ? 'timeline' : 'request';
}

function itemOf(profile: Profile, { name, title, menu }: Panel) {
  const record = profile.panels[name];
  const failed: PanelSummary = { text: 'failed', tone: 'bad' };
  const summary = record === undefined ? null : record.error === null ? record.summary : failed;
  return { name, title, summary, key: menu?.key ?? null };
}

export function menuOf(profile: Profile, panels: readonly Panel[]) {
  type Items = ReturnType<typeof itemOf>[];
  const menu: Record<'main' | 'more' | 'empty', Items> = { main: [], more: [], empty: [] };
  for (const panel of panels) {
    const item = itemOf(profile, panel);
    if (!hasContent(profile, panel.name)) {
      if (panel.menu?.optional !== true) menu.empty.push(item);
    } else if (panel.menu?.group === 'process') menu.more.push(item);
    else if (panel.name === 'exception') menu.main.splice(menu.main[0]?.name === OVERVIEW ? 1 : 0, 0, item);
    else menu.main.push(item);
  }
  return menu;
}

export function endingOf({
  kind,
  status,
  state,
  outcome,
  error,
}: Pick<ProfileIndex, 'kind' | 'status' | 'state' | 'outcome'> & { error: unknown }): string {
  if (status !== null) return String(status);
  if (state === 'running') return state;
  if (outcome === 'cut off') return outcome;
  return !isWork(kind) ? 'no response' : error === null ? 'completed' : 'failed';
}

export function titleOf(profile: Profile, panel: Panel): string {
  if (profile.error !== null && (panel.name === 'exception' || panel.name === OVERVIEW))
    return `${shorten(profile.error.message, TITLE_LENGTH)} (${endingOf(profile)})`;
  return `${shorten(`${profile.method} ${profile.url.replace(/\?.*$/s, '')}`, TITLE_LENGTH)}: ${panel.title.toLowerCase()}`;
}
