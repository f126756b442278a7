/** The CPU panel: which functions ran during the request, by V8's sampler. Only for requests that were asked for. */
import type { KeptCpu } from '../../profiler/record/cpu-samples.ts';
import type { Panel } from '../../profiler/panel.ts';
import { isSampled } from '../../profiler/read/cpu-tree.ts';
import { drawCpu } from './draw.ts';
import { presentCpu } from './present.ts';
import { durationText } from '../../view-helpers/numbers.ts';

export const cpuPanel: Panel<KeptCpu> = {
  name: 'cpu',
  title: 'CPU',
  menu: {
    group: 'process',
    key: 'z',
    rank: false,
    summary: (kept) => ({ text: isSampled(kept) ? durationText(kept.ownMs) : 'not sampled', tone: 'plain' }),
  },
  recorded: {
    facts: { cpu: 'CPU profiles' },
    searched: ['name'],
    nothing: {
      what: 'This request was not sampled.',
      why: 'A CPU profile names the functions that used the CPU. Request one with the form above, or with the header x-debug-profile: cpu.',
    },
  },
  data: (record) => record.last('cpu') ?? null,
  rows: presentCpu,
  view: { model: drawCpu },
};
