/** One panel of a profile -> what its page shows: its own view, its rows, its empty state, or an error. */
import { isWork } from '../../profiler/context.ts';
import type { EmptyState, Panel, PanelPage } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { howToRecordInFull, WHY_SUMMARY } from '../../profiler/recording-limit.ts';
import type { Presentation } from '../../profiler/rows.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { type RowsPage, rowsPage } from '../../render/rows-page.ts';
import { messageOf } from '../../errors.ts';

export interface PanelShown {
  panel: Panel;
  profile: Profile;
  query: PanelPage['query'];
  data: unknown;
  error: string | null;
  /** Why it can't be shown although it was recorded. */
  failure: string | null;
  empty: EmptyState | null;
  /** What the panel presents; null if it presents nothing. */
  presented: Presentation | null;
  /** The same, the first rows of each section, for a panel without its own view. */
  rows: () => RowsPage;
  /** What its own view needs besides the rows. */
  model: object | null;
  /** Facts beyond the recording limit, with their noun. */
  dropped: { count: number; noun: string }[];
}

function emptyOf({ recorded }: Panel, profile: Profile): EmptyState {
  const { summary } = profile;
  if (summary !== null)
    return {
      what: `Only a summary of this ${isWork(profile.kind) ? profile.kind : 'request'} was recorded.`,
      why: WHY_SUMMARY[summary],
      todo: howToRecordInFull(isWork(profile.kind)),
    };
  const { nothing = { what: 'Nothing was recorded.' } } = recorded ?? {};
  try {
    return typeof nothing === 'function' ? nothing(profile) : nothing;
  } catch {
    return { what: 'Nothing was recorded.' };
  }
}

export function panelShown(panel: Panel, page: PanelPage): PanelShown {
  const { profile, query } = page;
  const { data = null, error = null } = profile.panels[panel.name] ?? {};
  const shown: PanelShown = {
    panel,
    profile,
    query,
    data,
    error,
    failure: null,
    empty: data === null ? emptyOf(panel, profile) : null,
    presented: null,
    rows: () => rowsPage({ sections: [] }, { page: { panel: panel.name }, query }),
    model: null,
    dropped: Object.entries(panel.recorded?.facts ?? {}).flatMap(([name, noun]) => {
      const count = profile.dropped[name] ?? 0;
      return count > 0 ? [{ count, noun }] : [];
    }),
  };
  if (data === null) return shown;
  try {
    const presented = presentPanel(panel, page);
    const rows = (): RowsPage =>
      rowsPage(presented ?? { sections: [] }, { page: { panel: panel.name }, query });
    return { ...shown, presented, rows, model: panel.view?.model?.(data, page) ?? null };
  } catch (failed) {
    return { ...shown, failure: messageOf(failed) };
  }
}
