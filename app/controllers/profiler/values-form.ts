/** The values where a request failed: what can be asked for on its page, and what came of it. */
import { createError, messageOf } from '../../errors.ts';
import { thrownAt } from '../../panels/shared/kept-panels.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import type { Profile } from '../../profiler/profile.ts';
import { pathsOf } from '../../profiler/record/route-in-full.ts';
import type { ValuesAsked, WaitedRoute } from '../../profiler/record/values.ts';
import type { PageServices } from './page-services.ts';
import { isSafe } from './replay/replay-request.ts';

type Services = Pick<PageServices, 'profiles' | 'values' | 'replay'>;

export const NO_VALUES =
  'It was sent again, but no values were read: another process of the application served it, or only a summary of it was recorded.';
const NAMES = /[A-Za-z_$][\w$]*/g;

export function hasValues(profile: Profile): boolean {
  return dataOf(profile, 'exception')?.values !== undefined;
}

function hasFailed(profile: Profile): boolean {
  return (dataOf(profile, 'exception')?.errors.length ?? 0) > 0 || (profile.status ?? 0) >= 500;
}

function comparedText(before: Profile, after: Profile): string {
  if (!hasFailed(after)) return 'It did not fail this time.';
  const [first, second] = [before, after].map(
    (profile) => dataOf(profile, 'exception')?.errors[0]?.thrown.chain[0],
  );
  const isSame = first?.class === second?.class && first?.message === second?.message;
  const place = thrownAt(after);
  if (place === null || thrownAt(before) !== place)
    return isSame ? 'Same error, at another place.' : 'Another error.';
  return isSame ? 'Same error, same line.' : 'Same line, another message.';
}

async function otherOf(
  { profiles }: Services,
  token: unknown,
  compare: (other: Profile) => string,
): Promise<{ token: string; said: string } | null> {
  if (typeof token !== 'string') return null;
  const found = await profiles.read(token);
  return { token, said: found === null ? '' : compare(found.profile) };
}

function routeOf({ method, route }: Profile): WaitedRoute | null {
  return route !== null && pathsOf(route) !== null ? { method, route } : null;
}

export async function readValuesForm(services: Services, { profile, amendments }: FoundProfile) {
  const { values, replay } = services;
  const read = dataOf(profile, 'exception')?.values;
  if (values === undefined || profile.kind !== 'request' || (!hasFailed(profile) && read === undefined))
    return null;
  const route = routeOf(profile);
  const to = (amendments.values as { token?: unknown } | undefined)?.token;
  return {
    refusal: values.refusal(),
    maySend: replay !== 'off' && profile.state === 'final' && profile.summary === null,
    asks: !isSafe(profile),
    route: route === null ? null : `${route.method} ${route.route}`,
    waitsUntil: route === null ? null : values.waitsUntil(route),
    from: await otherOf(services, read?.of, (before) => comparedText(before, profile)),
    to: await otherOf(services, to, (after) => comparedText(profile, after)),
  };
}

function namesIn(profile: Profile): Set<string> {
  const chains = dataOf(profile, 'exception')?.errors.flatMap(({ thrown }) => thrown.chain) ?? [];
  const lines = chains
    .flatMap(({ frames }) => frames)
    .map(({ excerpt, line }) => (line === null ? undefined : excerpt?.lines[line - excerpt.from]) ?? '');
  return new Set(lines.flatMap((text) => text.match(NAMES) ?? []));
}

function valuesAsked(profile: Profile, caught: boolean): ValuesAsked {
  return { of: profile.token, caught, names: namesIn(profile) };
}

export async function attachForValues(
  { values }: Services,
  profile: Profile,
  caught: boolean,
): Promise<{ header: string; release: () => void }> {
  if (values === undefined) throw createError('BAD_REQUEST', ['No values can be read here.']);
  try {
    return await values.attach(valuesAsked(profile, caught));
  } catch (error) {
    throw createError('BAD_REQUEST', [messageOf(error)], { cause: error });
  }
}

export function waitForValues({ values }: Services, profile: Profile, caught: boolean): WaitedRoute {
  const route = routeOf(profile);
  if (values === undefined || route === null || profile.kind !== 'request')
    throw createError('BAD_REQUEST', ['Only a request with a route can be waited for.']);
  const why = values.refusal();
  if (why !== null) throw createError('BAD_REQUEST', [why]);
  values.wait({ ...valuesAsked(profile, caught), ...route });
  return route;
}
