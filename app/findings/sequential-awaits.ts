/**
 * Reads that ran one after the other although they may be independent. Only their values are visible, not what the code
 * needed, so the conditions are strict (docs/findings/sequential-awaits.md) and the sentence says "may".
 */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';
import { pick } from '../panels/shared/rows.ts';

type Given = Pick<Kept, 'database'> & Partial<Pick<Kept, 'routing'>>;

/** Statements this many lines apart count as part of one function. */
const NEAR_LINES = 25;
/** With a longer pause between two statements, the code awaited something else. */
const GAP_MS = 5;
/** Reported if running them together would save both. */
const SAVED_MS = 10;
const SAVED_SHARE = 0.1;
/** Bindings that Knex adds; they depend on no earlier read. */
const CONSTANT = new Set(['limit', 'offset']);

interface Place {
  file: string;
  line: number;
}

function placeOf({ caller }: Query): Place | null {
  const [, file, line] = /^(.*):(\d+)$/.exec(caller ?? '') ?? [];
  return file === undefined ? null : { file, line: Number(line) };
}

/** Every part of the address that may have become a value, as JSON of a string and of a number. */
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

/** `after` is another statement, sent from nearby code as soon as `before` ended. */
function follows(before: Query, after: Query): boolean {
  const gap = after.startMs - after.waitMs - endOf(before);
  if (gap < 0 || gap > GAP_MS || after.statement === before.statement) return false;
  const [a, b] = [placeOf(before), placeOf(after)];
  return a !== null && b?.file === a.file && b.line > a.line && b.line - a.line <= NEAR_LINES;
}

function valuesOf({ bindings }: Query): string[] {
  return bindings.filter(({ name }) => !CONSTANT.has(name)).map(({ value }) => JSON.stringify(value));
}

/** Runs of reads that follow each other and whose values were known before the first. */
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
  labels: ['sequential awaits'],
  why: 'Reads on nearby lines each started when the previous one had ended, outside any transaction, and all their values were known before the first.',
  fix: 'Start them together and await them together: `const [a, b] = await Promise.all([readA(), readB()])`.',
  find(kept, head) {
    const { database } = kept;
    if (database.queries.length < 2) return [];
    const wholeMs = head.durationMs ?? Infinity;
    return chainsIn(kept, head).flatMap((chain) => {
      const reads = pick(database.queries, chain);
      const [first] = reads;
      if (first === undefined) return [];
      const times = reads.map(({ durationMs }) => durationMs ?? 0);
      const sum = times.reduce((total, ms) => total + ms, 0);
      const longest = Math.max(...times);
      const costMs = sum - longest;
      if (costMs < SAVED_MS || costMs < wholeMs * SAVED_SHARE) return [];
      const from = labelOf(database, first);
      const to = labelOf(database, reads.at(-1) ?? first);
      const sentence = `${count(reads.length, 'read')}, from ${from} to ${to}, ran one after the other but may be independent: ${duration(sum)} in total, longest ${duration(longest)}`;
      return [
        { severity: 'info', sentence, anchor: rowOf(database, chain[0] ?? 0), costMs, place: first.caller },
      ];
    });
  },
};
