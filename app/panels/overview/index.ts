/**
 * What a profile opens on from the list and the toolbar: what came back, what is wrong, what took the time, how this route usually is,
 * what was received and sent. It records nothing: other panels did, and prove it. The address without a panel keeps to the contract, and
 * opens the exception or the request.
 */
import type { Panel } from '../../profiler/panel.ts';
import type { Tone } from '../../profiler/rows.ts';
import { drawOverview } from './draw.ts';
import { presentOverview } from './present.ts';

export interface OverviewData {
  findings: number;
  worst: Tone;
}

export const overviewPanel: Panel<OverviewData, null> = {
  name: 'overview',
  title: 'Overview',
  key: 'w',
  toolbar: false,
  collect: () => null,
  derive: (_kept, { profile: { findings, findingsLeft = 0 } }) => {
    const [first] = findings;
    return {
      findings: findings.length + findingsLeft,
      worst: first === undefined || first.severity === 'info' ? 'plain' : first.severity,
    };
  },
  summary: ({ findings, worst }) => (findings === 0 ? null : { text: String(findings), tone: worst }),
  present: (_data, from) => presentOverview(from),
  draw: (_data, page) => drawOverview(page),
};
