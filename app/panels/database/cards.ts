/** Loops as cards above the list: the line that loops, the durations, one query instead of all. */
import type { PanelPage } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type DatabaseData, type DatabaseGroup, GROUP_LABELS } from './data.ts';
import { loopPlace, timesOf } from '../shared/query-groups.ts';
import { sqlLines } from '../shared/sql-lines.ts';
import { joinTokens, plainNames, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';
import { differingNames, oneQueryFor } from '../shared/one-query.ts';
import { pick } from '../shared/rows.ts';
import { shownPlans } from './plans.ts';
import { oneLine } from './statement-line.ts';

interface ListedGroup {
  group: DatabaseGroup;
  at: number;
}

const BARS_SHOWN = 60;
const CARDS_SHOWN = 3;

function readInstead(data: DatabaseData, group: DatabaseGroup, sql: string): { tokens: SqlToken[] }[] | null {
  const changed = group.kind === 'n+1' ? oneQueryFor(data.queries, group, sql) : null;
  if (changed === null) return null;
  const lines = sqlLines(plainNames(sqlTokens(changed.text))).map((tokens) => ({ tokens }));
  lines.at(-1)?.tokens.push(['c', `  -- ${numberHelpers.count(timesOf(group))} values`]);
  return lines;
}

function barsOf(durations: readonly number[], perBar: number): number[] {
  return Array.from({ length: Math.ceil(durations.length / perBar) }, (_, bar) =>
    Math.max(...durations.slice(bar * perBar, (bar + 1) * perBar)),
  );
}

function cardOf(data: DatabaseData, { group, at }: ListedGroup) {
  const durations = group.members.map((index) => data.queries[index]?.durationMs ?? 0);
  const sorted = [...durations].sort((a, b) => a - b);
  const perBar = Math.ceil(durations.length / BARS_SHOWN);
  const differs = differingNames(pick(data.queries, group.members));
  const { sql = '', system } = data.statements[group.statement] ?? {};
  return {
    id: `g${at + 1}`,
    label: GROUP_LABELS[group.kind],
    tone: group.kind === 'n+1' ? 'bad' : 'warn',
    count: timesOf(group),
    /** Columns whose values differ. */
    differs,
    tokens: joinTokens(oneLine(sql, system)),
    caller: loopPlace(group),
    excerpt: (data.excerpts ?? []).find(({ place }) => place === loopPlace(group))?.excerpt ?? null,
    durationMs: group.durationMs,
    bars: barsOf(durations, perBar),
    perBar,
    firstMs: durations[0] ?? 0,
    lastMs: durations.at(-1) ?? 0,
    slowestMs: sorted.at(-1) ?? 0,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    /** One query instead of all; null if the statement does not suggest one. */
    instead: readInstead(data, group, sql),
  };
}

export function drawQueries(data: DatabaseData, { amendments }: Pick<PanelPage, 'amendments'>) {
  const loops = data.groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => group.kind !== 'duplicate' && group.kind !== 'repeated')
    .sort((a, b) => b.group.durationMs - a.group.durationMs);
  return {
    cards: loops.slice(0, CARDS_SHOWN).map((loop) => cardOf(data, loop)),
    moreCards: Math.max(0, loops.length - CARDS_SHOWN),
    plans: [...shownPlans(data, amendments.plan)].map(([index, plan]) => ({ number: index + 1, plan })),
  };
}
