/** A comparison in a sentence or two: how much longer B took, and where that time went. */
import { dataOf } from '../../../panels/shared/panel-data.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { SPAN_KINDS, type SpanKind } from '../../../profiler/read/span.ts';
import { durationText, percentText } from '../../../view-helpers/numbers.ts';
import { type FigureRow, NOTABLE } from './compare-profiles.ts';

const MOST_REASONS = 3;
const LEAST_SHARE = 0.1;
const LEAST_MS = 0.5;

interface Share {
  kind: SpanKind;
  ms: number;
}

const FIGURES: Partial<Record<SpanKind, string>> = { db: 'Queries', out: 'Outgoing calls' };
const SPENT_IN: readonly SpanKind[] = ['app', 'middleware', 'db', 'out', 'view', 'cache', 'work'];

function changesOf(a: Profile, b: Profile): Share[] {
  const changes = new Map<SpanKind, number>();
  for (const { kind, ms } of dataOf(a, 'timeline')?.shares ?? [])
    changes.set(kind, (changes.get(kind) ?? 0) - ms);
  for (const { kind, ms } of dataOf(b, 'timeline')?.shares ?? [])
    changes.set(kind, (changes.get(kind) ?? 0) + ms);
  return Array.from(changes, ([kind, ms]) => ({ kind, ms }));
}

function countChange(kind: SpanKind, figures: readonly FigureRow[]): string | null {
  const more = figures.find(({ label }) => label === FIGURES[kind])?.change ?? 0;
  if (more === 0) return null;
  const { one, many } = SPAN_KINDS[kind];
  const count = Math.abs(more);
  return `${count} ${more > 0 ? 'more' : 'fewer'} ${count === 1 ? one : many}`;
}

function plainOf(kind: SpanKind): string {
  const { label } = SPAN_KINDS[kind];
  return `${SPENT_IN.includes(kind) ? 'in ' : ''}${kind === 'db' ? 'the ' : ''}${kind === 'cache' ? label : label.toLowerCase()}`;
}

function notable(changes: readonly Share[], change: number, direction: number): Share[] {
  return changes
    .filter(({ ms }) => Math.sign(ms) === direction)
    .filter(({ ms }) => Math.abs(ms) >= LEAST_MS && Math.abs(ms) >= LEAST_SHARE * Math.abs(change))
    .sort((left, right) => Math.abs(right.ms) - Math.abs(left.ms));
}

function reasonsOf(a: Profile, b: Profile, figures: readonly FigureRow[], change: number): string {
  const changes = changesOf(a, b);
  const reasons = notable(changes, change, Math.sign(change))
    .slice(0, MOST_REASONS)
    .map(({ kind, ms }) => {
      const counted = countChange(kind, figures);
      return `${durationText(Math.abs(ms))} ${counted === null ? plainOf(kind) : `in ${counted}`}`;
    });
  if (reasons.length === 0) return '';
  // If some of it changed the other way, the reasons add up to more than the whole.
  const [against] = notable(changes, change, -Math.sign(change)).map(
    ({ kind, ms }) => `${durationText(Math.abs(ms))} ${change > 0 ? 'less' : 'more'} ${plainOf(kind)}`,
  );
  return `: ${reasons.join(', ')}${against === undefined ? '' : `, but ${against}`}`;
}

function timeSentence(a: Profile, b: Profile, figures: readonly FigureRow[]): string {
  if (a.durationMs === null || b.durationMs === null)
    return `${a.durationMs === null ? 'A' : 'B'} is still running; this compares its work so far.`;
  const change = b.durationMs - a.durationMs;
  const than = change < 0 ? 'less' : 'longer';
  const times = b.durationMs / a.durationMs;
  const share =
    times >= 2 ? `${times.toFixed(1)} times as long` : percentText(Math.abs(change), a.durationMs);
  const size = durationText(Math.abs(change));
  if (Math.abs(change) < LEAST_MS || Math.abs(change) < NOTABLE * a.durationMs) {
    const counted = countChange('db', figures);
    const ran = counted === null ? '' : `; it ran ${counted}`;
    return `B took about as long as A (${size} ${than})${ran}.`;
  }
  return `B took ${size} ${than} (${share})${reasonsOf(a, b, figures, change)}.`;
}

export function summarizeComparison(a: Profile, b: Profile, figures: readonly FigureRow[]): string {
  const sentences = [timeSentence(a, b, figures)];
  if (a.status !== b.status)
    sentences.push(`A responded ${a.status ?? 'nothing'}, B ${b.status ?? 'nothing'}.`);
  if (a.route !== b.route || a.method !== b.method)
    sentences.push('The routes differ, so most sections are not comparable.');
  if (a.summary !== null || b.summary !== null)
    sentences.push(`Only a summary of ${a.summary === null ? 'B' : 'A'} was recorded.`);
  return sentences.join(' ');
}
