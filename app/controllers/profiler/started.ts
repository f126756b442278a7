/** Profiles that a request started: its jobs, events and commands, and calls to applications of the same storage, with their outcome. */
import type { StartedProfile } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { PageServices } from './page-services.ts';
import { readTraceAround } from './trace-around.ts';

/** Profiles that are listed, and failed ones whose place is read. */
const MOST = 12;
const MOST_READ = 4;

export function hasFailed({
  state,
  status,
  error,
}: Pick<ProfileIndex, 'state' | 'status' | 'error'>): boolean {
  return state !== 'running' && (error !== null || (status ?? 0) >= 400);
}

function outcomeOf(row: ProfileIndex): string {
  if (row.state === 'running') return 'running';
  if (row.kind === 'request') return row.status === null ? 'no response' : String(row.status);
  return hasFailed(row) ? 'failed' : 'completed';
}

interface KeptErrors {
  errors?: readonly {
    thrown: {
      chain: readonly { frames: readonly { kind: string; file: string | null; line: number | null }[] }[];
    };
  }[];
}

/** The line of own code that threw. */
function thrownAt(profile: Profile | undefined): string | null {
  const { errors = [] } = (profile?.panels.exception?.data ?? {}) as KeptErrors;
  const frames = errors.flatMap(({ thrown }) => thrown.chain.toReversed().flatMap((link) => link.frames));
  const own = frames.find(({ kind, file }) => kind === 'own' && file !== null);
  return own === undefined ? null : `${own.file ?? ''}:${own.line ?? ''}`;
}

export async function readStarted(
  services: Pick<PageServices, 'profiles'>,
  profile: Profile,
): Promise<StartedProfile[]> {
  const { profiles } = services;
  const [children, { called }] = await Promise.all([
    profiles.children(profile.token),
    readTraceAround(services, profile),
  ]);
  const rows = [
    ...children.filter(({ kind }) => kind !== 'error_page' && kind !== 'profiler'),
    ...called.values(),
  ]
    .toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)) || a.startedAt - b.startedAt)
    .slice(0, MOST);
  return Promise.all(
    rows.map(async (row, at): Promise<StartedProfile> => {
      const isFailed = hasFailed(row);
      const read = isFailed && at < MOST_READ ? await profiles.read(row.token).catch(() => null) : null;
      const findings = read?.profile.findings ?? [];
      const { run } = (read?.profile.panels.jobs?.data ?? {}) as {
        run?: { attempt: number; attempts: number };
      };
      return {
        token: row.token,
        what: `${row.method} ${row.url}`.slice(0, 300),
        outcome: outcomeOf(row),
        isFailed,
        startMs: row.startedAt - profile.startedAt,
        durationMs: row.durationMs,
        error: row.error?.split('\n')[0]?.slice(0, 300) ?? null,
        place: thrownAt(read?.profile) ?? findings.find(({ place }) => place !== undefined)?.place ?? null,
        attempt: run === undefined || run.attempts < 2 ? null : `attempt ${run.attempt} of ${run.attempts}`,
      };
    }),
  );
}
