/** For tests of your own panels: the facts of a request -> the data that the panel stores, masked, and its rows. */
import { Context } from '../../profiler/record/context.ts';
import type { Panel } from '../../profiler/panel.ts';
import { createRecorder } from '../../profiler/record/recorder.ts';
import { createRedactor } from '../../profiler/masking/redact.ts';
import type { Presentation } from '../../profiler/read/rows.ts';

export interface ShownPanel<Data> {
  data: Data | null;
  rows: Presentation | null;
}

/** Throws what the panel throws. `addFacts` adds facts to the context as an observer would. */
export function showPanel<Data>(panel: Panel<Data>, addFacts: (context: Context) => void): ShownPanel<Data> {
  const context = new Context({ token: '000000', kind: 'request' });
  addFacts(context);
  const recorder = createRecorder({
    panels: [panel],
    redactor: createRedactor(),
    nextToken: () => '000000',
    write: () => undefined,
    process: 'test',
    warn: (sentence) => {
      throw new Error(sentence);
    },
  });
  const profile = recorder.snapshot(context);
  const { data = null, error } = profile.panels[panel.name] ?? {};
  if (typeof error === 'string') throw new Error(error);
  const found = data as Data | null;
  const rows = found === null ? null : (panel.rows?.(found, { profile, amendments: {} }) ?? null);
  return { data: found, rows };
}
