/** The timeline as Markdown: the shares of the time, then each span, indented by its depth. */
import { blocks, heading, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { PanelPage } from '../../profiler/panel.ts';
import type { TimelineData } from './index.ts';
import { type BrowserRow, browserView } from './browser.ts';

const INDENT = '· ';
const { durationText, percentText } = numberHelpers;

function browserMarkdown(data: TimelineData, timing: unknown): string[] {
  const browser = browserView(data, timing);
  if (browser === null) return [];
  return [
    heading(3, 'In the browser'),
    browser.said.join(' '),
    table<BrowserRow>(
      [
        { title: 'Start', value: ({ startMs }) => `+${durationText(startMs)}`, plain: true },
        { title: 'Time', value: ({ durationMs }) => durationText(durationMs), plain: true },
        { title: 'What', value: ({ label, depth }) => INDENT.repeat(depth) + label, plain: true },
      ],
      browser.rows,
    ),
  ];
}

export function timelineMarkdown(data: TimelineData, { amendments = {} }: PanelPage): string {
  const { totalMs, headersMs, spans, shares } = data;
  const headers = headersMs === null ? '' : `, headers after ${durationText(headersMs)}`;
  return blocks([
    `${durationText(totalMs)} in all${headers}.`,
    table<TimelineData['shares'][number]>(
      [
        { title: 'What', value: ({ label }) => label, plain: true },
        { title: 'Time', value: ({ ms }) => durationText(ms), plain: true },
        { title: 'Share', value: ({ ms }) => percentText(ms, totalMs), plain: true },
      ],
      shares,
    ),
    ...browserMarkdown(data, amendments.timing),
    heading(3, 'Spans'),
    table<TimelineData['spans'][number]>(
      [
        { title: 'Start', value: ({ startMs }) => `+${durationText(startMs)}`, plain: true },
        { title: 'Time', value: ({ durationMs }) => durationText(durationMs), plain: true },
        { title: 'Kind', value: ({ kind }) => kind, plain: true },
        { title: 'Span', value: ({ label, depth }) => INDENT.repeat(Math.min(12, depth)) + label },
      ],
      spans,
    ),
  ]);
}
