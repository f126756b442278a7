/** A slow statement; if its plan is known, how many rows it read for those it returned. */
import { isLoop } from '../panels/database/data.ts';
import { timesOf } from '../panels/shared/query-groups.ts';
import type { Finding } from '../profiler/finding.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Profile } from '../profiler/profile.ts';
import type { Kept } from './shared/kept.ts';
import { isMostlyHeld, lengthOf, usualText } from './shared/long.ts';
import { describePlan, indexCode } from './shared/plans.ts';
import { isLarge, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { type Wait, waitsOf } from './shared/slow-work.ts';
import { count, shareOf } from './shared/wording.ts';

const SLOW_MS = 100;

/** A finding about the loop says it, unless each of its statements is slow by itself. */
function isTold({ groups }: Kept['database'], { group }: { group: number | null }): boolean {
  const loop = group === null ? undefined : groups[group];
  return loop !== undefined && isLoop(loop) && loop.durationMs / timesOf(loop) < SLOW_MS;
}

/** The same statement from the same line is one finding, however often it is slow. */
function firstOfGroups<T extends { group: number | null }>(waits: readonly Wait<T>[]): Wait<T>[] {
  const seen = new Set<number>();
  return waits.filter(({ longest: { group } }) => {
    if (group === null) return true;
    const isFirst = !seen.has(group);
    seen.add(group);
    return isFirst;
  });
}

/** Whether a query is the one that the finding is about. */
function isAt({ anchor }: Finding, panels: Profile['panels']): (index: number) => boolean {
  const data = panels.database?.data as Kept['database'];
  return (index) => rowOf(data, index) === anchor;
}

export const slowStatement: FindingRule<Pick<Kept, 'database'>> = {
  name: 'slow-statement',
  needs: ['database'],
  labels: ['slow query'],
  why: 'The statement took at least 100 ms until its result was read, or half of a request that took three times as long as its route usually does. Rows read are PostgreSQL’s estimate (EXPLAIN, run after the response).',
  fix: 'Check its plan: it may need an index on what it filters or joins by, fewer rows or columns, or to run once instead of repeatedly.',
  find({ database }, { durationMs: wholeMs }, from) {
    const { usualMs } = from;
    const slow = database.queries
      .map((query, index) => ({ ...query, index, ms: query.durationMs ?? 0 }))
      .filter(({ ms }) => lengthOf(ms, wholeMs, { longMs: SLOW_MS, usualMs }) !== null)
      // A large result, a failure and a wait for a lock have rules of their own.
      // A wait for a connection is a statement without SQL.
      .filter(
        (query) =>
          sqlOf(database, query) !== '' &&
          query.error === null &&
          !isLarge(database, query) &&
          !isTold(database, query),
      )
      .filter(({ lockedBy }) => lockedBy === undefined)
      .filter((query) => !isMostlyHeld(query, from.time));
    return firstOfGroups(waitsOf(slow)).map(({ longest: query, beside }) => {
      const { index, ms } = query;
      const rows = query.rows === null ? '' : ` and returned ${count(query.rows, 'row')}`;
      const others = beside.length === 0 ? '' : `, while ${count(beside.length, 'other slow statement')} ran`;
      const isUnusual = ms < SLOW_MS;
      const than = isUnusual ? usualText(usualMs) : '';
      const sentence = `${labelOf(database, query)} took ${shareOf(ms, wholeMs)}${rows}${others}${than}`;
      const anchor = rowOf(database, index);
      const severity = isUnusual ? 'info' : 'warn';
      return { severity, sentence, anchor, costMs: ms, place: query.caller };
    });
  },
  amend(finding, { panels }, { plan }) {
    if (plan === undefined) return finding;
    const remark = describePlan(plan, isAt(finding, panels));
    return remark === null ? finding : { ...finding, sentence: `${finding.sentence}; ${remark}` };
  },
  code: (finding, { panels }, { plan }) => indexCode(plan, isAt(finding, panels)),
};
