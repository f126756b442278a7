/** What pages see of a panel, of facts added by hand: collected, masked and derived as the recorder does it. */
import { panelShown } from '../../app/controllers/profiler/panel-shown.ts';
import { type CheerioAPI, load } from 'cheerio';
import { Context } from '../../app/profiler/record/context.ts';
import type { Panel, PanelPage } from '../../app/profiler/panel.ts';
import type { PanelSummary, Profile } from '../../app/profiler/profile.ts';
import { createRecorder } from '../../app/profiler/record/recorder.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { createPageFixture } from './page-fixture.ts';

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

/** What its menu shows. */
export function summaryOf<Data, Kept>(panel: Panel<Data, Kept>, data: Data): PanelSummary | null {
  return panel.menu?.summary?.(data, { panels: {} } as unknown as Profile) ?? null;
}

/** A request with these facts. */
export function contextWith(fill: (context: Context) => void): Context {
  const context = new Context({ token: '000001', kind: 'request' });
  fill(context);
  return context;
}

/** What pages see of a panel that has recorded something. */
export function recordedBy<Data, Kept>(
  panel: Panel<Data, Kept>,
  context: Context,
  others: readonly Panel[] = [],
): Data {
  const data = dataOf(panel, context, others);
  if (data === null) throw new Error('Nothing was collected.');
  return data;
}

/** The page of one panel, of facts added by hand. */
export function panelPage<Data, Kept>(
  panel: Panel<Data, Kept>,
  context: Context,
  others: readonly Panel[] = [],
): CheerioAPI {
  const { services } = createPageFixture([panel]);
  return load(panelHtml(services.renderPage, panel, { profile: profileOf(context, [panel, ...others]) }));
}

/** One panel of a profile as its page shows it. */
export function panelHtml(
  renderPage: (view: string, model: object) => string,
  panel: Panel,
  page: Pick<PanelPage, 'profile'> & Partial<PanelPage>,
): string {
  return renderPage('partials/panel-body', panelShown(panel, { query: {}, amendments: {}, ...page }));
}
