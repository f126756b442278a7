/** Statements that are sent below a method of an ORM carry its name. Of nested methods the outermost counts: the application called it. */
import { ormCalls } from './channels/labels.ts';
import type { QueryRecorder } from './queries.ts';

export function observeLabels({ queries: { calls } }: { queries: QueryRecorder }): { close(): void } {
  ormCalls.bindStore(calls, (call) => calls.getStore() ?? call);
  return {
    close() {
      ormCalls.unbindStore(calls);
    },
  };
}
