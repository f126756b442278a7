/** Profiles that a request started: its jobs, events and commands, and calls to applications of the same storage, with their outcome. */
import { errorText } from '../../profiler/error-text.ts';
import { thrownAt } from '../../panels/shared/kept-panels.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import { isWork } from '../../profiler/record/context.ts';
import type { StartedProfile } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { PageServices } from './page-services.ts';
import { readCalled, readTraceAround } from './trace-around.ts';

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

/** Work that it started, and calls to applications of this storage that failed: the others are among what it asked. */
export async function readStarted(
  services: Pick<PageServices, 'profiles'>,
  profile: Profile,
): Promise<StartedProfile[]> {
  const { profiles } = services;
  const [children, called] = await Promise.all([
    profiles.children(profile.token),
    readTraceAround(services, profile).then((around) => readCalled(services, profile, around)),
  ]);
  const failedCalls = [...called.values()].filter(({ status }) => (status ?? 0) >= 400);
  const rows = children
    .filter(({ kind }) => isWork(kind))
    .toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)));
  const work = rows.slice(0, MOST).map(async (row, at): Promise<StartedProfile> => {
    const isFailed = hasFailed(row);
    const read = isFailed && at < MOST_READ ? await profiles.read(row.token).catch(() => null) : null;
    const { run } = (read && dataOf(read.profile, 'jobs')) ?? {};
    return {
      ...headOf(row, profile, read?.profile),
      outcome: row.state === 'running' ? 'running' : isFailed ? 'failed' : 'completed',
      isFailed,
      error: firstLine(row.error),
      attempt: run === undefined || run.attempts < 2 ? null : `attempt ${run.attempt} of ${run.attempts}`,
    };
  });
  const calls = failedCalls.slice(0, MOST).map((call): StartedProfile => ({
    ...headOf(call, profile, call),
    outcome: String(call.status),
    isFailed: true,
    error: call.error === null ? null : firstLine(errorText(call.error)),
    attempt: null,
  }));
  return [...(await Promise.all(work)), ...calls];
}
