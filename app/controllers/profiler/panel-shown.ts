/** One panel of a profile -> its page: its own view, its rows, its empty state, or an error. */
import { isWork } from '../../profiler/record/context.ts';
import type { EmptyState, Panel, PanelPage } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { howToRecordInFull, WHY_SUMMARY } from '../../profiler/record/recording-limit.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { rowsPage } from '../../render/rows-page.ts';
import { messageOf } from '../../errors.ts';

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

export function panelShown(panel: Panel, page: PanelPage) {
  const { profile, query } = page;
  const { data = null, error = null } = profile.panels[panel.name] ?? {};
  let model: object | null = null;
  let failure: string | null = null;
  try {
    if (data !== null) model = panel.view?.model?.(data, page) ?? null;
  } catch (failed) {
    failure = messageOf(failed);
  }
  return {
    panel,
    profile,
    query,
    data,
    /** Why it could not be recorded. */
    error,
    failure,
    empty: data === null ? emptyOf(panel, profile) : null,
    rows: () =>
      rowsPage(presentPanel(panel, page) ?? { sections: [] }, { page: { panel: panel.name }, query }),
    model,
    /** Facts beyond the recording limit, with their noun. */
    dropped: Object.entries(panel.recorded?.facts ?? {}).flatMap(([name, noun]) => {
      const count = profile.dropped[name] ?? 0;
      return count > 0 ? [{ count, noun }] : [];
    }),
  };
}
