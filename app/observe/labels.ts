/** Statements that are sent below a method of an ORM carry its name. Of nested methods the outermost counts: the application called it. */
import { type OrmCall, ormCalls } from './channels/labels.ts';
import type { QueryRecorder } from './queries.ts';

export function observeLabels({ queries: { labels } }: { queries: QueryRecorder }): { close(): void } {
  ormCalls.bindStore(labels, (call) => labels.getStore() ?? (call as OrmCall).label);
  return {
    close() {
      ormCalls.unbindStore(labels);
    },
  };
}
