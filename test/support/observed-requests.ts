/** Work as a request would do it, and the facts it leaves: for tests of observers against real libraries. */
import { expect } from 'chai';
import type { Knex } from 'knex';
import { createCallerFinder, type FindCaller } from '../../app/observe/stacks/caller.ts';
import type { Traced } from '../../app/observe/channels/trace.ts';
import { type Driver, observeDriver } from '../../app/observe/databases/drivers.ts';
import { type Libraries, type LibraryPatch, watchLibraries } from '../../app/observe/libraries.ts';
import { observeKnex } from '../../app/observe/databases/knex.ts';
import { createQueryRecorder, type QueryRecorder } from '../../app/observe/databases/queries.ts';
import type { QueryFact } from '../../app/observe/databases/query-fact.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

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

/** Listens to a driver. */
export function recording<Q extends Traced>(driver: Driver<Q>): ObservedLibrary['listen'] {
  return (options) => observeDriver(driver, options);
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
      queries.calls.disable();
      tracker.close();
    },
  };
}

/** A driver records each statement once: for a Knex that is observed with the name of its instance, else too. */
export async function expectOnceBelow(requests: ObservedRequests, knex: Knex, system: string): Promise<void> {
  const placeholder = system === 'postgresql' ? ['$1', '$2'] : ['?', '?'];
  const observation = observeKnex(knex, { ...requests, instance: 'main' });
  try {
    const seen = await requests.observed(async () => {
      await knex('things').where('id', 1).first();
      await knex.transaction((trx) => trx('things').select('id'));
      await knex.raw('select 1');
    });
    expect(seen.map(({ sql }) => sql.replace(/[;"`]/g, ''))).to.deep.equal([
      `select * from things where id = ${placeholder.join(' limit ')}`,
      'BEGIN',
      'select id from things',
      'COMMIT',
      'select 1',
    ]);
    expect(seen.map((fact) => `${fact.system ?? ''} ${fact.instance}`)).to.deep.equal(
      seen.map(() => `${system} main`),
    );
    observation.close();
    const below = await requests.observed(async () => {
      await knex.raw('select 2');
    });
    expect(below.map(({ sql }) => sql)).to.deep.equal(['select 2']);
    expect(below[0]?.caller).to.match(/test\/support\/observed-requests\.ts:\d+$/);
  } finally {
    await knex.destroy();
  }
}
