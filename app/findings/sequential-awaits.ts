/**
 * Reads that ran one after the other although none may have needed the one before: at once they would take as long as the
 * longest.
 *
 * What a read needs can't be seen, only what it was given. So this is strict: the reads stand near each other in one file, each was sent
 * when the one before had ended, none is part of a transaction, and every value of the later ones was known before the
 * first was sent: it stands in the address or in the first one's values. Whether the code would have gone on without the
 * earlier answer is not known, hence `may`.
 */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { counted, dearestFirst, duration, placed } from './shared/wording.ts';

type Given = Pick<Kept, 'database'> & Partial<Pick<Kept, 'routing'>>;

/** Lines between two statements that are taken for one function's. */
const NEAR_LINES = 25;
/** Between the end of one and the sending of the next: nothing else was waited for. */
const GAP_MS = 5;
/** What at once would save, to be worth a sentence: so long, and so much of the request. */
const SAVED_MS = 10;
const SAVED_SHARE = 0.1;
/** Set by the application's code whatever was read before. */
const CONSTANT = new Set(['limit', 'offset']);

interface Place {
  file: string;
  line: number;
}

function placeOf({ caller }: Query): Place | null {
  const [, file, line] = /^(.*):(\d+)$/.exec(caller ?? '') ?? [];
  return file === undefined ? null : { file, line: Number(line) };
}

/** Every part of the address that may have become a value, as the JSON of a text and of a number. */
function addressValues({ url }: ProfileHead, routing: Kept['routing'] | undefined): Set<string> {
  const values = new Set<string>();
  function add(value: unknown): void {
    if (typeof value !== 'string' && typeof value !== 'number') return;
    values.add(JSON.stringify(String(value)));
    if (/^\d{1,15}$/.test(String(value))) values.add(String(Number(value)));
  }
  for (const { value } of routing?.route?.params ?? []) add(value);
  const query = url.indexOf('?');
  if (query !== -1) for (const [, value] of new URLSearchParams(url.slice(query))) add(value);
  return values;
}

function isCandidate(database: Kept['database'], query: Query): boolean {
  return (
    query.transaction === null &&
    query.group === null &&
    query.error === null &&
    query.durationMs !== null &&
    kindOf(sqlOf(database, query)) === 'read'
  );
}

/** The one after `before` was sent at once, from near by, as another statement. */
function follows(before: Query, after: Query): boolean {
  const gap = after.startMs - after.waitMs - endOf(before);
  if (gap < 0 || gap > GAP_MS || after.statement === before.statement) return false;
  const [a, b] = [placeOf(before), placeOf(after)];
  return a !== null && b?.file === a.file && b.line > a.line && b.line - a.line <= NEAR_LINES;
}

function valuesOf({ bindings }: Query): string[] {
  return bindings.filter(({ name }) => !CONSTANT.has(name)).map(({ value }) => JSON.stringify(value));
}

/** Runs of reads that follow each other and whose values were there before. */
function chainsIn({ database, routing }: Given, head: ProfileHead): number[][] {
  const { queries } = database;
  const chains: number[][] = [];
  let address: Set<string> | null = null;
  let chain: number[] = [];
  let ofFirst: Set<string> | null = null;
  queries.forEach((query, index) => {
    if (!isCandidate(database, query)) {
      chain = [];
      return;
    }
    const first = queries[chain[0] ?? -1];
    const before = queries[index - 1];
    if (first !== undefined && before !== undefined && follows(before, query)) {
      const inAddress = (address ??= addressValues(head, routing));
      const inFirst = (ofFirst ??= new Set(valuesOf(first)));
      if (valuesOf(query).every((value) => inAddress.has(value) || inFirst.has(value))) {
        if (chain.push(index) === 2) chains.push(chain);
        return;
      }
    }
    chain = [index];
    ofFirst = null;
  });
  return chains;
}

export const sequentialAwaits: FindingRule<Given> = {
  name: 'sequential-awaits',
  needs: ['database'],
  labels: ['one by one'],
  known:
    'Reads from neighbouring lines each began when the one before had ended, outside any transaction, and all their values were known before the first.',
  mends:
    'Start them together and await them together: `const [a, b] = await Promise.all([readA(), readB()])`.',
  find(kept, head) {
    const { database } = kept;
    if (database.queries.length < 2) return [];
    const wholeMs = head.durationMs ?? Infinity;
    if (database.totals.busyMs < SAVED_MS || database.totals.busyMs < wholeMs * SAVED_SHARE) return [];
    const found: Finding[] = [];
    for (const chain of chainsIn(kept, head)) {
      const reads = chain.map((index) => database.queries[index]).filter((query) => query !== undefined);
      const [first] = reads;
      if (first === undefined) continue;
      const times = reads.map(({ durationMs }) => durationMs ?? 0);
      const sum = times.reduce((total, ms) => total + ms, 0);
      const longest = Math.max(...times);
      const costMs = sum - longest;
      if (costMs < SAVED_MS || costMs < wholeMs * SAVED_SHARE) continue;
      const from = labelOf(database, first);
      const to = labelOf(database, reads.at(-1) ?? first);
      const sentence = `${counted(reads.length, 'read')}, from ${from} to ${to}, may not depend on each other and ran one after the other: ${duration(sum)}, the longest alone ${duration(longest)}`;
      const anchor = rowOf(database, chain[0] ?? 0);
      found.push(
        placed(
          { label: 'one by one', severity: 'info', sentence, panel: 'database', anchor, costMs },
          first.caller,
        ),
      );
    }
    return dearestFirst(found);
  },
};
