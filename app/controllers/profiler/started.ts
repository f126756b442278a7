/** Profiles that a request started: its jobs, events and commands, and calls to applications of the same storage, with their outcome. */
import { errorText } from '../../profiler/error-text.ts';
import { thrownAt } from '../../panels/shared/kept-panels.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import { timelineOf } from '../../panels/shared/timeline-data.ts';
import type { SpanKind } from '../../profiler/read/span.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { count } from '../../view-helpers/numbers.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';
import { isWork } from '../../profiler/record/context.ts';
import type { StartedProfile } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { PageServices } from './page-services.ts';

type JobRun = Facts['jobRun'];

/** Kinds of spans that are work which somebody waits for. */
const STEPS = new Set<SpanKind>(['db', 'out', 'cache', 'view', 'work']);
const MOST = 12;
const MOST_READ = 4;

function hasFailed({ state, status, error }: Pick<ProfileIndex, 'state' | 'status' | 'error'>): boolean {
  return state !== 'running' && (error !== null || (status ?? 0) >= 400);
}

function firstLine(error: string | null): string | null {
  return error?.split('\n')[0]?.slice(0, 300) ?? null;
}

function headOf(
  row: Pick<ProfileIndex, 'token' | 'method' | 'url' | 'startedAt' | 'durationMs'>,
  parent: Profile,
  read: Profile | undefined,
): Pick<StartedProfile, 'token' | 'what' | 'startMs' | 'durationMs' | 'place'> {
  const { token, method, url, startedAt, durationMs } = row;
  return {
    token,
    what: `${method} ${url}`.slice(0, 300),
    startMs: startedAt - parent.startedAt,
    durationMs,
    place: (read && thrownAt(read)) ?? read?.findings.find(({ place }) => place !== undefined)?.place ?? null,
  };
}

/** What a worker made of a job: another one of its queue would have done something else. */
function ranText(
  { attempt, attempts, outcome, result, worker, otherWorkers = [] }: JobRun,
  profile: Profile,
): string | null {
  const steps = (timelineOf(profile)?.spans ?? []).slice(1).filter(({ kind }) => STEPS.has(kind)).length;
  return noteOf([
    attempts < 2 ? null : `attempt ${attempt} of ${attempts}`,
    outcome === 'completed' ? `returned ${textOf(valueLine(result, { longest: 80 }))}` : null,
    steps === 0 ? 'no step' : count(steps, 'step'),
    worker === undefined ? null : `by the worker of ${worker}`,
    otherWorkers.length === 0
      ? null
      : `which shares the queue with ${count(otherWorkers.length, 'other')}: ${otherWorkers.join(', ')}`,
  ]);
}

/** Work that it started, and calls to applications of this storage that failed: the others are among what it asked. */
export async function readStarted(
  { profiles }: Pick<PageServices, 'profiles'>,
  profile: Profile,
  called: ReadonlyMap<string, Profile>,
): Promise<StartedProfile[]> {
  const children = await profiles.children(profile.token);
  const failedCalls = [...called.values()].filter(({ status }) => (status ?? 0) >= 400);
  const rows = children
    .filter(({ kind }) => isWork(kind))
    .toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)));
  const work = rows.slice(0, MOST).map(async (row, at): Promise<StartedProfile> => {
    const isFailed = hasFailed(row);
    const isRead = at < MOST_READ && (isFailed || row.kind === 'job');
    const read = isRead ? await profiles.read(row.token).catch(() => null) : null;
    const { run } = (read && dataOf(read.profile, 'jobs')) ?? {};
    return {
      ...headOf(row, profile, read?.profile),
      outcome: row.state === 'running' ? 'running' : isFailed ? 'failed' : 'completed',
      isFailed,
      error: firstLine(row.error),
      worker: run?.worker ?? null,
      ran: run === undefined || read === null ? null : ranText(run, read.profile),
    };
  });
  const calls = failedCalls.slice(0, MOST).map((call): StartedProfile => ({
    ...headOf(call, profile, call),
    outcome: String(call.status),
    isFailed: true,
    error: call.error === null ? null : firstLine(errorText(call.error)),
    worker: null,
    ran: null,
  }));
  return [...(await Promise.all(work)), ...calls];
}
