/** Other recorded requests of a profile's trace: the one that made it, and those that it made. */
import type { CallEntry } from '../../panels/http-client/data.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { tokenInSpan } from '../../profiler/record/trace-context.ts';
import type { PageServices } from './page-services.ts';

interface TraceAround {
  caller: ProfileIndex | null;
  called: ReadonlyMap<string, ProfileIndex>;
}

const NOTHING: TraceAround = { caller: null, called: new Map() };
const MOST_CALLED = 20;
const MOST_OF_TRACE = 500;
const WITHIN_MS = 600_000;
const CLOCKS_DIFFER_MS = 1000;

function callsOf(profile: Profile): readonly CallEntry[] {
  return dataOf(profile, 'http_client')?.calls ?? [];
}

function spansOf(profile: Profile): Map<string, string> {
  const { trace } = profile;
  return new Map(
    callsOf(profile).flatMap(({ requestHeaders }, index): [string, string][] => {
      const sent = namedHeader(requestHeaders, 'traceparent') ?? '';
      const [, traceId, span = ''] = sent.split('-');
      return traceId === trace?.traceId ? [[span, `c${index + 1}`]] : [];
    }),
  );
}

/** Most profiles belong to no trace, which saves the query. */
export async function readTraceAround(
  { profiles }: Pick<PageServices, 'profiles'>,
  profile: Profile,
): Promise<TraceAround> {
  const { trace, startedAt, durationMs } = profile;
  if (trace === undefined) return NOTHING;
  const { rows } = await profiles.find({
    traceId: trace.traceId,
    from: startedAt - WITHIN_MS,
    until: startedAt + (durationMs ?? 0) + WITHIN_MS,
    descending: false,
    counted: false,
    limit: MOST_OF_TRACE,
  });
  const token = trace.parentId === null ? null : tokenInSpan(trace.parentId);
  const spans = spansOf(profile);
  return {
    caller: rows.find((row) => row.token === token) ?? null,
    called: new Map(
      rows.flatMap((row): [string, ProfileIndex][] => {
        const anchor = spans.get(row.callerSpan ?? '');
        return anchor === undefined ? [] : [[anchor, row]];
      }),
    ),
  };
}

/** The called service is not trusted, and its token may be of another storage: here it must be that of such a request. */
function isOf(call: CallEntry, caller: Profile, called: Profile): boolean {
  const path = URL.canParse(call.url) ? new URL(call.url).pathname : null;
  const sinceCallMs = called.startedAt - caller.startedAt - call.startMs;
  return (
    called.method === call.method &&
    pathOf(called.url) === path &&
    sinceCallMs > -CLOCKS_DIFFER_MS &&
    sinceCallMs < (call.durationMs ?? 0) + CLOCKS_DIFFER_MS
  );
}

/** The profiles of called requests, the first ones if there are many. Without a trace, the response tells the token. */
export async function readCalled(
  { profiles }: Pick<PageServices, 'profiles'>,
  profile: Profile,
  { called }: TraceAround,
): Promise<ReadonlyMap<string, Profile>> {
  const wanted = callsOf(profile).flatMap((call, index) => {
    const anchor = `c${index + 1}`;
    const traced = called.get(anchor)?.token;
    const token = traced ?? /\/_profiler\/([0-9a-f]{6})$/.exec(call.link ?? '')?.[1];
    return token === undefined ? [] : [{ anchor, token, call, isTraced: traced !== undefined }];
  });
  const read = await Promise.all(
    wanted
      .slice(0, MOST_CALLED)
      .map(async ({ anchor, token, call, isTraced }): Promise<[string, Profile][]> => {
        const found = (await profiles.read(token))?.profile;
        return found !== undefined && (isTraced || isOf(call, profile, found)) ? [[anchor, found]] : [];
      }),
  );
  return new Map(read.flat());
}
