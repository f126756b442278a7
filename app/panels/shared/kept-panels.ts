/** The stored data of one panel that another reads when a profile is read. */
import type { RecordReader } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { frameLine } from '../../profiler/record/thrown.ts';
import { countHeaders, nameAuthors, type NamedAuthors } from './header-authors.ts';
import type { Kept } from './panel-data.ts';
import { mountedHandler, type RanLayer } from './ran-layers.ts';

/** Of a profile whose panels have not made theirs of it yet. */
function stored<Name extends keyof Kept>({ panels }: Profile, name: Name): Kept[Name] | null {
  return (panels[name]?.data ?? null) as Kept[Name] | null;
}

export function layersOf(profile: Profile): readonly RanLayer[] {
  return stored(profile, 'routing')?.layers ?? [];
}

export function mountedHandlerOf(profile: Profile): RanLayer | undefined {
  return mountedHandler(layersOf(profile), stored(profile, 'routing')?.route ?? null);
}

export function headersAtMsOf(profile: Profile): number | null {
  return stored(profile, 'request')?.response?.headersAtMs ?? null;
}

/** `file:line` of what was thrown first. */
export function thrownAt(profile: Profile): string | null {
  return frameLine(stored(profile, 'exception')?.errors[0]?.place?.frame);
}

/** Headers that Express's final handler sends if no layer responded, or none handled the error. */
const LAST_RESORT: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
  'content-type': 'text/html; charset=utf-8',
};

function isLastResort(status: number | null, headers: readonly { name: string; value: string }[]): boolean {
  if (status === null || status < 400) return false;
  const same = headers.filter(({ name, value }) => LAST_RESORT[name.toLowerCase()] === value);
  return same.length === Object.keys(LAST_RESORT).length;
}

/** It runs inside the call of the last layer, which did not set them. */
function withLastResort(authors: NamedAuthors, names: readonly string[]): NamedAuthors {
  return {
    ...authors,
    sent: authors.sent.map((steps, index) => {
      const name = names[index]?.toLowerCase() ?? '';
      const last = steps.at(-1);
      if (last === undefined || last.hooked || !(name in LAST_RESORT || name === 'content-length'))
        return steps;
      return [...steps.slice(0, -1), { ...last, by: 'Express, because nothing responded', place: null }];
    }),
  };
}

export function authorsOf({ profile }: Pick<RecordReader, 'profile'>): NamedAuthors | null {
  const kept = stored(profile, 'request')?.response;
  if (kept === undefined || kept.headersAtMs === null) return null;
  const all = kept.headers;
  const names = all.map(({ name }) => name);
  const named = nameAuthors(kept.setBy, names, layersOf(profile));
  return named !== null && isLastResort(profile.status, all) ? withLastResort(named, names) : named;
}

export function headersByLayer(profile: Profile): ReadonlyMap<number, number> {
  return countHeaders(stored(profile, 'request')?.response?.setBy);
}
