/** Work as a request would do it, and the facts it leaves: for tests of observers against real libraries. */
import { createCallerFinder, type FindCaller } from '../../app/observe/caller.ts';
import { type Libraries, type LibraryPatch, watchLibraries } from '../../app/observe/libraries.ts';
import { createQueryRecorder, type QueryRecorder } from '../../app/observe/queries.ts';
import type { QueryFact } from '../../app/observe/query-fact.ts';
import { Context, ContextTracker } from '../../app/profiler/context.ts';

export interface ObservedRequests {
  tracker: ContextTracker;
  queries: QueryRecorder;
  libraries: Libraries;
  /** Runs `work` in a request of its own; resolves with its statements. */
  observed(work: () => unknown): Promise<readonly QueryFact[]>;
  close(): void;
}

export interface ObservedLibrary {
  patches: readonly LibraryPatch[];
  listen: (options: { tracker: ContextTracker; queries: QueryRecorder; findCaller: FindCaller }) => {
    close(): void;
  };
}

export function observeRequests(...library: readonly ObservedLibrary[]): ObservedRequests {
  const tracker = new ContextTracker();
  const findCaller = createCallerFinder();
  const queries = createQueryRecorder({ tracker, findCaller });
  const libraries = watchLibraries(library.flatMap(({ patches }) => patches));
  const closing = library.map(({ listen }) => listen({ tracker, queries, findCaller }));
  let count = 0;
  return {
    tracker,
    queries,
    libraries,
    async observed(work) {
      const token = (++count).toString(16).padStart(6, '0');
      const context = new Context({ token, kind: 'request' });
      await tracker.run(context, async () => {
        await work();
      });
      return context.all('query');
    },
    close() {
      for (const one of closing) one.close();
      libraries.close();
    },
  };
}
