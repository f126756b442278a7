/** What pages see of a panel, of facts added by hand: collected, masked and derived as the recorder does it. */
import { panelShown } from '../../app/controllers/profiler/panel-shown.ts';
import type { Context } from '../../app/profiler/context.ts';
import type { Panel, PanelPage } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createRecorder } from '../../app/profiler/recorder.ts';
import { createRedactor } from '../../app/profiler/redact.ts';

/** The profile of a context, with these panels. */
export function profileOf(context: Context, panels: readonly Panel[]): Profile {
  const recorder = createRecorder({
    panels,
    redactor: createRedactor(),
    nextToken: () => '000000',
    write: () => undefined,
    process: 'web.1',
    warn: (sentence) => {
      throw new Error(sentence);
    },
  });
  return recorder.snapshot(context);
}

/** `others` are the panels whose data it is derived from. */
export function dataOf<Data, Kept>(
  panel: Panel<Data, Kept>,
  context: Context,
  others: readonly Panel[] = [],
): Data | null {
  const { data, error } = profileOf(context, [panel, ...others]).panels[panel.name] ?? {};
  if (error !== null && error !== undefined) throw new Error(error);
  return (data ?? null) as Data | null;
}

/** One panel of a profile as its page shows it. */
export function panelHtml(
  renderPage: (view: string, model: object) => string,
  panel: Panel,
  page: Pick<PanelPage, 'profile'> & Partial<PanelPage>,
): string {
  return renderPage('partials/panel-body', panelShown(panel, { query: {}, amendments: {}, ...page }));
}
