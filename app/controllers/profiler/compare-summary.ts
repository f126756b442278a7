/** A comparison in a sentence or two: how much longer B took, and where that time went. */
import type { Profile } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type FigureRow, NOTABLE } from './compare-profiles.ts';

const MOST_REASONS = 3;
/** A reason is named from this share of the difference on. */
const LEAST_SHARE = 0.1;
/** And from this many milliseconds on. */
const LEAST_MS = 0.5;

interface Share {
  label: string;
  ms: number;
}

/** Words for each share of the timeline; `figure` is the figure that counts it. */
const WORDS: Readonly<Record<string, { figure?: string; one: string; many: string; plain: string }>> = {
  Database: { figure: 'Queries', one: 'query', many: 'queries', plain: 'in queries' },
  'Outgoing calls': {
    figure: 'Outgoing calls',
    one: 'outgoing call',
    many: 'outgoing calls',
    plain: 'in outgoing calls',
  },
  Views: { one: '', many: '', plain: 'in views' },
  'Event loop blocked': { one: '', many: '', plain: 'blocked time' },
  'Garbage collection': { one: '', many: '', plain: 'garbage collection' },
  'Connection pool wait': { one: '', many: '', plain: 'waiting for a connection' },
  Unaccounted: { one: '', many: '', plain: 'unaccounted time' },
  'Own code': { one: '', many: '', plain: 'in own code' },
};

const { durationText } = numberHelpers;

/** Where the time of a request went, each millisecond once; empty without a timeline. */
function sharesOf({ panels }: Profile): Share[] {
  const shares = (panels.timeline?.data as { shares?: unknown } | null | undefined)?.shares;
  if (!Array.isArray(shares)) return [];
  return shares.filter(
    (share): share is Share => typeof share?.label === 'string' && typeof share?.ms === 'number', // oxlint-disable-line typescript/no-unsafe-member-access -- stored JSON
  );
}

function changesOf(a: Profile, b: Profile): Share[] {
  const changes = new Map<string, number>();
  for (const { label, ms } of sharesOf(a)) changes.set(label, (changes.get(label) ?? 0) - ms);
  for (const { label, ms } of sharesOf(b)) changes.set(label, (changes.get(label) ?? 0) + ms);
  return Array.from(changes, ([label, ms]) => ({ label, ms }));
}

/** `18 more queries`; null if both have as many, or nothing counts them. */
function countChange(label: string, figures: readonly FigureRow[]): string | null {
  const words = WORDS[label];
  const more = figures.find((figure) => figure.label === words?.figure)?.change ?? 0;
  if (words === undefined || more === 0) return null;
  const count = Math.abs(more);
  return `${count} ${more > 0 ? 'more' : 'fewer'} ${count === 1 ? words.one : words.many}`;
}

/** `in queries`, `garbage collection`. */
function plainOf(label: string): string {
  return WORDS[label]?.plain ?? `in “${label.toLowerCase()}”`;
}

/** Changes that are a notable share of the whole change, in one direction; largest first. */
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
    .map(({ label, ms }) => {
      const counted = countChange(label, figures);
      return `${durationText(Math.abs(ms))} ${counted === null ? plainOf(label) : `in ${counted}`}`;
    });
  if (reasons.length === 0) return '';
  // If some of it changed the other way, the reasons add up to more than the whole.
  const [against] = notable(changes, change, -Math.sign(change)).map(
    ({ label, ms }) => `${durationText(Math.abs(ms))} ${change > 0 ? 'less' : 'more'} ${plainOf(label)}`,
  );
  return `: ${reasons.join(', ')}${against === undefined ? '' : `, but ${against}`}`;
}

function timeSentence(a: Profile, b: Profile, figures: readonly FigureRow[]): string {
  if (a.durationMs === null || b.durationMs === null)
    return `${a.durationMs === null ? 'A' : 'B'} is still running; compared is what it did so far.`;
  const change = b.durationMs - a.durationMs;
  const than = change < 0 ? 'less' : 'longer';
  const times = b.durationMs / a.durationMs;
  const share =
    times >= 2
      ? `${times.toFixed(1)} times as long`
      : numberHelpers.percentText(Math.abs(change), a.durationMs);
  const size = durationText(Math.abs(change));
  if (Math.abs(change) < LEAST_MS || Math.abs(change) < NOTABLE * a.durationMs) {
    const counted = countChange('Database', figures);
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
