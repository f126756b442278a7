/**
 * Panel `exception`: everything thrown while a request was handled, or in its work after the answer.
 *
 * In: facts `error` (live values) and the request's own `log` lines. Out: plain data from the injected describer. The
 * error page shows the same data through the same view, so what is described here is described once per error: a
 * snapshot for the page and the final profile share it.
 */
import type { Context } from '../../profiler/context.ts';
import type { ErrorFact } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Thrown } from '../../profiler/thrown.ts';
import type { ExceptionData, ThrownRecord } from './data.ts';
import { readLogs } from './logs.ts';
import { findPlace, type SourcePlace } from './place.ts';
import { presentException } from './present.ts';

const MOST_ERRORS = 10;
const FATAL: ReadonlySet<ErrorFact['origin']> = new Set(['uncaughtException', 'unhandledRejection']);

function linksOf({ errors }: ExceptionData): number {
  return errors.reduce((sum, { thrown }) => sum + thrown.chain.length, 0);
}

function isServerFault({ status, origin }: ThrownRecord): boolean {
  return FATAL.has(origin) || (status !== null && status >= 500);
}

export interface ExceptionPanelOptions {
  describe: (value: unknown) => Thrown;
}

export function createExceptionPanel({ describe }: ExceptionPanelOptions): Panel<ExceptionData> {
  const described = new WeakMap<ErrorFact, { thrown: Thrown; place: SourcePlace | null }>();

  function describeOnce(fact: ErrorFact): { thrown: Thrown; place: SourcePlace | null } {
    const known = described.get(fact);
    if (known !== undefined) return known;
    const thrown = describe(fact.error);
    const made = { thrown, place: findPlace(thrown) };
    described.set(fact, made);
    return made;
  }

  return {
    name: 'exception',
    title: 'Exception',
    key: 'e',
    toolbar: { rank: 10 },
    searched: ['class', 'message', 'code', 'properties'],
    facts: { error: 'errors' },
    collect(context: Context) {
      const facts = context.all('error');
      if (facts.length === 0) return null;
      const duration = context.durationMs;
      const errors = facts.slice(0, MOST_ERRORS).map((fact) => ({
        origin: fact.origin,
        atMs: fact.atMs,
        late: duration !== null && fact.atMs > duration,
        status: fact.status,
        ...describeOnce(fact),
      }));
      return { errors, errorsCut: facts.length - errors.length, ...readLogs(context) };
    },
    summary(data) {
      const count = linksOf(data);
      return { text: String(count), tone: data.errors.some(isServerFault) ? 'bad' : 'warn', count };
    },
    empty: () => ({
      what: 'Nothing was thrown during this request.',
      why: 'Errors you caught and handled are not shown.',
    }),
    present: presentException,
  };
}
