/**
 * Panel `exception`: everything thrown while a request was handled, or in its work after the answer.
 *
 * In: facts `error` (live values) and the request's own `log` lines. Out: plain data from the injected describer. The
 * error page shows the same data through the same view, so what is described here is described once per error: a
 * snapshot for the page and the final profile share it.
 */
import type { Context } from '../profiler/context.ts';
import type { ErrorFact } from '../profiler/facts.ts';
import type { Finding } from '../profiler/finding.ts';
import type { Panel } from '../profiler/panel.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import type { Thrown } from '../profiler/thrown.ts';
import { readLogs, type ErrorLog } from './exception/logs.ts';
import { findPlace, nameOfPlace, type SourcePlace } from './exception/place.ts';

export interface ThrownRecord {
  origin: ErrorFact['origin'];
  /** Milliseconds since the request began. */
  atMs: number;
  /** Thrown after the answer was over. */
  late: boolean;
  /** The status it was answered with; null where it was not. */
  status: number | null;
  thrown: Thrown;
  /** The frame shown first: the deepest of the developer's own. */
  place: SourcePlace | null;
}

export interface ExceptionData {
  errors: ThrownRecord[];
  /** Errors left out of the list. */
  errorsCut: number;
  logs: ErrorLog[];
  /** Earlier lines left out. */
  logsCut: number;
}

const MOST_ERRORS = 10;
const FATAL: ReadonlySet<ErrorFact['origin']> = new Set(['uncaughtException', 'unhandledRejection']);

function linksOf({ errors }: ExceptionData): number {
  return errors.reduce((sum, { thrown }) => sum + thrown.chain.length, 0);
}

function isServerFault({ status, origin }: ThrownRecord): boolean {
  return FATAL.has(origin) || (status !== null && status >= 500);
}

function short(message: string): string {
  const line = message.split('\n', 1)[0] ?? '';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

/** `TypeError: Cannot read …` of the link that began it. */
function beginning({ thrown }: ThrownRecord): string {
  const link = thrown.chain.at(-1);
  return link === undefined ? 'An error' : `${link.class}: ${short(link.message)}`;
}

function findingOf(record: ThrownRecord, index: number, profile: ProfileHead): Finding | null {
  const common = { panel: 'exception', anchor: `error-${index + 1}` };
  const at = record.place === null ? null : nameOfPlace(record.place);
  const where = at === null ? common : { ...common, place: at };
  // Rules of their own tell of these: unhandled-rejection, error-answered-2xx, root-cause.
  if (FATAL.has(record.origin)) return null;
  if (record.late || record.origin === 'late')
    return {
      ...where,
      label: 'late',
      severity: 'warn',
      sentence: `Thrown after the answer: ${beginning(record)}`,
    };
  const isHidden = profile.status !== null && profile.status < 400;
  if (isHidden || !isServerFault(record) || record.thrown.chain.length > 1) return null;
  return { ...where, label: 'exception', severity: 'bad', sentence: `Thrown: ${beginning(record)}` };
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
    findings: (data, profile) =>
      data.errors
        .map((record, index) => findingOf(record, index, profile))
        .filter((finding) => finding !== null),
    summary(data) {
      const count = linksOf(data);
      return { text: String(count), tone: data.errors.some(isServerFault) ? 'bad' : 'warn', count };
    },
  };
}
