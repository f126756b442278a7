/**
 * Markdown of the built-in panels by name. Apart from the panels themselves, so that it is loaded with the pages and not with
 * the application; a panel of one's own brings it as its `markdown`.
 */
import type { Panel } from '../profiler/panel.ts';

/** Each gets the data of its own panel, which the page hands on unread. */
export const panelMarkdown = {} as Readonly<Record<string, unknown>> as Readonly<
  Record<string, NonNullable<Panel['markdown']>>
>;
