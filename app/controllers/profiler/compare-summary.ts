/** A comparison in a sentence or two: how much longer, and where that time went. From recorded figures only. */
import type { Profile } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type FigureRow, NOTABLE } from './compare-profiles.ts';

/** Reasons that are named. */
const MOST_REASONS = 3;
/** Share of the difference that a reason must make up. */
const LEAST_SHARE = 0.1;
/** Milliseconds. */
const LEAST_MS = 0.5;

interface Share {
  label: string;
  ms: number;
}

/** How each share of the timeline is told of; `counted`: the figure that says how often. */
const TOLD: Readonly<Record<string, { counted?: string; one: string; many: string; plain: string }>> = {
  Database: { counted: 'Queries', one: 'query', many: 'queries', plain: 'its queries' },
  'Outgoing calls': {
    counted: 'Outgoing calls',
    one: 'outgoing call',
    many: 'outgoing calls',
    plain: 'its outgoing calls',
  },
  Views: { one: '', many: '', plain: 'its views' },
  'Event loop blocked': { one: '', many: '', plain: 'blocked time' },
  'Garbage collection': { one: '', many: '', plain: 'garbage collection' },
  'Connection pool wait': { one: '', many: '', plain: 'waiting for a connection' },
  Unaccounted: { one: '', many: '', plain: 'unaccounted time' },
  'Own code': { one: '', many: '', plain: 'own code' },
};

const { durationText } = numberHelpers;

/** Where the time of a profile went, each millisecond once; empty where its timeline does not say. */
function sharesOf({ panels }: Profile): Share[] {
  const shares = (panels.timeline?.data as { shares?: unknown } | null | undefined)?.shares;
  if (!Array.isArray(shares)) return [];
  return shares.filter(
    (share): share is Share => typeof share?.label === 'string' && typeof share?.ms === 'number', // eslint-disable-line @typescript-eslint/no-unsafe-member-access -- stored JSON
  );
}

function changesOf(a: Profile, b: Profile): Share[] {
  const changes = new Map<string, number>();
  for (const { label, ms } of sharesOf(a)) changes.set(label, (changes.get(label) ?? 0) - ms);
  for (const { label, ms } of sharesOf(b)) changes.set(label, (changes.get(label) ?? 0) + ms);
  return Array.from(changes, ([label, ms]) => ({ label, ms }));
}

/** `18 more queries`, or `its queries` where there were as many. */
function tell(label: string, figures: readonly FigureRow[]): string {
  const told = TOLD[label];
  if (told === undefined) return `“${label.toLowerCase()}”`;
  const more = figures.find((figure) => figure.label === told.counted)?.change ?? 0;
  if (more === 0) return told.plain;
  const count = Math.abs(more);
  return `${count} ${more > 0 ? 'more' : 'fewer'} ${count === 1 ? told.one : told.many}`;
}

/** What changed by a notable part of the whole change, in its direction or against it; the largest first. */
function notable(changes: readonly Share[], change: number, direction: number): Share[] {
  return changes
    .filter(({ ms }) => Math.sign(ms) === direction)
    .filter(({ ms }) => Math.abs(ms) >= LEAST_MS && Math.abs(ms) >= LEAST_SHARE * Math.abs(change))
    .sort((left, right) => Math.abs(right.ms) - Math.abs(left.ms));
}

function reasonsOf(a: Profile, b: Profile, figures: readonly FigureRow[], change: number): string {
  const changes = changesOf(a, b);
  const tellOf =
    (how: string) =>
    ({ label, ms }: Share): string =>
      `${durationText(Math.abs(ms))}${how} in ${tell(label, figures)}`;
  const reasons = notable(changes, change, Math.sign(change)).slice(0, MOST_REASONS).map(tellOf(''));
  if (reasons.length === 0) return '';
  // Where some of it took less, the reasons add up to more than the whole.
  const [against] = notable(changes, change, -Math.sign(change)).map(tellOf(change > 0 ? ' less' : ' more'));
  return `: ${reasons.join(', ')}${against === undefined ? '' : `; in return ${against}`}`;
}

function timeSentence(a: Profile, b: Profile, figures: readonly FigureRow[]): string {
  if (a.durationMs === null || b.durationMs === null)
    return `${a.durationMs === null ? 'A' : 'B'} has not ended; compared is what it did so far.`;
  const change = b.durationMs - a.durationMs;
  const than = change < 0 ? 'less' : 'longer';
  const times = b.durationMs / a.durationMs;
  const share =
    times >= 2
      ? `${times.toFixed(1)} times as long`
      : numberHelpers.percentText(Math.abs(change), a.durationMs);
  const size = durationText(Math.abs(change));
  if (Math.abs(change) < LEAST_MS || Math.abs(change) < NOTABLE * a.durationMs) {
    const queries = figures.find(({ label }) => label === 'Queries')?.change ?? 0;
    const told = queries === 0 ? '' : `; it ran ${tell('Database', figures)}`;
    return `B took about as long as A, ${size} ${than}${told}.`;
  }
  return `B took ${size} ${than} (${share})${reasonsOf(a, b, figures, change)}.`;
}

export function summarizeComparison(a: Profile, b: Profile, figures: readonly FigureRow[]): string {
  const sentences = [timeSentence(a, b, figures)];
  if (a.status !== b.status)
    sentences.push(`A answered ${a.status ?? 'nothing'}, B ${b.status ?? 'nothing'}.`);
  if (a.route !== b.route || a.method !== b.method)
    sentences.push(
      'They were answered by different routes, so that little of it can be set beside each other.',
    );
  if (a.outline !== null || b.outline !== null)
    sentences.push(`${a.outline === null ? 'B' : 'A'} is recorded in outline only.`);
  return sentences.join(' ');
}
