/** A request against earlier ones of its route, and the differences. */
import type { BesideProfile } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import { hasTail, type PercentilePair } from '../../profiler/store/route-summary.ts';
import type { Unit } from '../../profiler/read/rows.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { dataOf } from '../shared/panel-data.ts';

export interface Measure {
  label: string;
  unit: Unit;
  value: number | null;
  p50: number;
  /** null: of too few requests. */
  p95: number | null;
  tone: 'plain' | 'warn';
}

export interface Difference {
  text: string;
}

export interface Usual {
  count: number;
  measures: Measure[];
  compared: number;
  differences: Difference[];
  /** Requests by time, from 0 to `toMs`, as shares of the largest; this one's place. */
  histogram: { bins: number[]; toMs: number; own: number | null };
}

/** Above the 95th percentile by less is no difference. */
const CLEARLY = 1.1;
const BINS = 30;
const MOST_DIFFERENCES = 6;
/** As many of the others have it: usual. As few: not. */
const MOST = 0.6;
const FEW = 0.2;
const LONGEST_VALUE = 60;

function measureOf(label: string, unit: Unit, value: number | null, pair: PercentilePair | null): Measure[] {
  if (pair === null) return [];
  const [p50, p95] = pair;
  const isMore = value !== null && value > p95 * CLEARLY && value - p95 >= 1;
  return [{ label, unit, value, p50, p95, tone: isMore ? 'warn' : 'plain' }];
}

function parametersOf(url: string): Map<string, string> {
  const at = url.indexOf('?');
  return new Map(at === -1 ? [] : new URLSearchParams(url.slice(at + 1)));
}

function shown(value: string): string {
  return `“${value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value}”`;
}

function mostOf<Value>(values: readonly Value[]): { value: Value; count: number } | null {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [first] = [...counts].sort((a, b) => b[1] - a[1]);
  return first === undefined ? null : { value: first[0], count: first[1] };
}

function parameterDifferences(url: string, recent: readonly ProfileIndex[]): Difference[] {
  const own = parametersOf(url);
  const others = recent.map((row) => parametersOf(row.url));
  const names = new Set([...own.keys(), ...others.flatMap((parameters) => [...parameters.keys()])]);
  return [...names].flatMap((name): Difference[] => {
    const mine = own.get(name);
    const usual = mostOf(others.map((parameters) => parameters.get(name)));
    const same = others.filter((parameters) => parameters.get(name) === mine).length;
    if (usual === null || same > others.length * FEW || usual.count < others.length * MOST) return [];
    if ([mine, usual.value].some((value) => value !== undefined && isMasked(value))) return [];
    const theirs = usual.value === undefined ? 'did not have it' : `had ${shown(usual.value)}`;
    const this_ = mine === undefined ? 'missing' : shown(mine);
    return [{ text: `Parameter ${shown(name)}: ${this_}; ${usual.count} of ${others.length} ${theirs}.` }];
  });
}

function statusDifference(status: number | null, recent: readonly ProfileIndex[]): Difference[] {
  const usual = mostOf(recent.flatMap((row) => row.status ?? []));
  const same = recent.filter((row) => row.status === status).length;
  if (status === null || usual === null) return [];
  if (same > recent.length * FEW || usual.count < recent.length * MOST) return [];
  return [{ text: `Status ${status}; ${usual.count} of ${recent.length} returned ${usual.value}.` }];
}

function processDifference({ process, startedAt }: Profile, recent: readonly ProfileIndex[]): Difference[] {
  if (recent.some((row) => row.process === process || row.startedAt >= startedAt)) return [];
  return [{ text: `The first request in process ${process}.` }];
}

function histogramOf(durationMs: number | null, recent: readonly ProfileIndex[]): Usual['histogram'] {
  const times = recent.flatMap((row) => row.durationMs ?? []);
  const toMs = Math.max(durationMs ?? 0, ...times);
  const binOf = (ms: number): number => (toMs === 0 ? 0 : Math.min(BINS - 1, Math.floor((ms / toMs) * BINS)));
  const counts = Array.from({ length: BINS }, () => 0);
  for (const ms of times) counts[binOf(ms)] = (counts[binOf(ms)] ?? 0) + 1;
  const most = Math.max(1, ...counts);
  return {
    bins: counts.map((count) => count / most),
    toMs,
    own: durationMs === null ? null : binOf(durationMs),
  };
}

export function usualOf(profile: Profile, beside: BesideProfile | undefined): Usual | null {
  const { usual = null } = beside ?? {};
  if (usual === null) return null;
  const { percentiles, recent } = usual;
  const { p50Ms, p95Ms } = percentiles;
  const time: PercentilePair | null = p50Ms === null || p95Ms === null ? null : [p50Ms, p95Ms];
  const differences =
    recent.length === 0
      ? []
      : [
          ...statusDifference(profile.status, recent),
          ...parameterDifferences(profile.url, recent),
          ...processDifference(profile, recent),
        ];
  return {
    count: percentiles.count,
    measures: [
      ...measureOf('Time', 'ms', profile.durationMs, time),
      ...measureOf('Queries', 'count', profile.panels.database?.summary?.count ?? 0, percentiles.queries),
      ...measureOf(
        'Blocked',
        'ms',
        dataOf(profile, 'runtime')?.totals.blockedMs ?? null,
        percentiles.blockedMs,
      ),
      ...measureOf(
        'Response',
        'bytes',
        dataOf(profile, 'request')?.response?.bytes ?? null,
        percentiles.responseBytes,
      ),
    ].map((measure) => (hasTail(percentiles.count) ? measure : { ...measure, p95: null })),
    compared: recent.length,
    differences: differences.slice(0, MOST_DIFFERENCES),
    histogram: histogramOf(profile.durationMs, recent),
  };
}
