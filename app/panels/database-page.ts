/**
 * What the page of the database panel shows: rows in the asked order, groups folded to one row, loops explained above.
 * Made when the page is asked for, from stored and masked data only.
 */
import type { PanelPage } from '../profiler/panel.ts';
import type { DatabaseData, DatabaseGroup } from './database.ts';
import {
  build,
  type Building,
  costOf,
  type DatabaseRow,
  groupLabels,
  matches,
  type Plan,
  planAsRun,
  planByStatement,
  planByTime,
  type SharedParts,
  sharedParts,
} from './database-rows.ts';
import { addressOf, PAGE_BUDGET, type Page, pageOf } from './shared/rows.ts';
import { isControl } from './shared/statements.ts';
import { sqlLines, type SqlToken } from './shared/sql-tokens.ts';

const ORDERS = { run: 'As run', time: 'Slowest first', statement: 'Grouped by statement' } as const;
type Order = keyof typeof ORDERS;

/** An N+1 as the page explains it, above the list. */
export interface GroupCard {
  id: string;
  label: string;
  tone: 'bad' | 'warn';
  count: number;
  /** Columns whose values differ. */
  differs: string[];
  tokens: SqlToken[];
  caller: string | null;
  durationMs: number;
  bars: number[];
  slowestMs: number;
  medianMs: number;
  /** One read that may stand for all; null where the statement does not show it. */
  instead: { tokens: SqlToken[] }[] | null;
}

const CARDS_SHOWN = 3;
const BARS_SHOWN = 60;

/** `where id = $1 limit $2` -> `where id = any($1)`; null where nothing as plain as that is there. */
function readInstead(sql: string, column: string, count: number): { tokens: SqlToken[] }[] | null {
  const pattern = new RegExp(`("?${column.replace(/\W/g, '\\$&')}"?\\s*=\\s*)(\\$\\d+)`);
  if (sql.length > 1000 || !pattern.test(sql)) return null;
  const changed = sql.replace(pattern, '$1any($2)').replace(/\s+limit\s+(?:\$\d+|1)\s*;?$/i, '');
  const lines = sqlLines(changed).map((tokens) => ({ tokens }));
  lines.at(-1)?.tokens.push(['c', `  -- ${count} values`]);
  return lines;
}

interface Listed {
  group: DatabaseGroup;
  at: number;
}

function cardOf(data: DatabaseData, { group, at }: Listed, shared: SharedParts): GroupCard {
  const durations = group.members.map((index) => data.queries[index]?.durationMs ?? 0);
  const sorted = [...durations].sort((a, b) => a - b);
  const differs = shared.differingIn(at);
  const sql = data.statements[group.statement]?.sql ?? '';
  const [only] = differs;
  return {
    id: `g${at + 1}`,
    label: groupLabels[group.kind],
    tone: group.kind === 'n+1' ? 'bad' : 'warn',
    count: group.members.length,
    differs,
    tokens: shared.lineOf(group.statement),
    caller: group.caller,
    durationMs: group.durationMs,
    bars: durations.slice(0, BARS_SHOWN),
    slowestMs: sorted.at(-1) ?? 0,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    instead:
      group.kind === 'n+1' && differs.length === 1 && only !== undefined
        ? readInstead(sql, only, group.members.length)
        : null,
  };
}

/** The first page where it holds the row that is asked for, else a page that begins with it. */
function fromOf(data: DatabaseData, plans: readonly Plan[], open: string): string {
  const at = plans.findIndex(({ members, id }) => (id ?? `q${(members[0] ?? 0) + 1}`) === open);
  let spent = 0;
  for (const plan of plans.slice(0, Math.max(0, at))) spent += costOf(data, plan, true);
  return spent > PAGE_BUDGET - 4000 ? String(at) : '0';
}

export function presentDatabase(data: DatabaseData, { query, slowMs }: PanelPage & { slowMs: number }) {
  const order: Order = query.order === 'time' || query.order === 'statement' ? query.order : 'run';
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('database', { order: order === 'run' ? null : order, find, ...changes });
  const plans = { run: planAsRun, time: planByTime, statement: planByStatement }[order](data);
  const found = find === '' ? plans : plans.filter((plan) => matches(data, plan, find.toLowerCase()));
  const brief = found.reduce((sum, plan) => sum + costOf(data, plan, false), 0) > PAGE_BUDGET;
  const open = query.open ?? '';
  const asked = { ...query, from: query.from ?? fromOf(data, found, open) };
  const planned = pageOf(found, { query: asked, cost: (plan) => costOf(data, plan, brief) });
  const cards = data.groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => group.kind !== 'duplicate')
    .sort((a, b) => b.group.durationMs - a.group.durationMs);
  const shared = sharedParts(data);
  const shownCards = cards.slice(0, CARDS_SHOWN).map((listed) => cardOf(data, listed, shared));
  const building: Building = {
    ...shared,
    data,
    slowMs,
    brief,
    open,
    explained: new Set(shownCards.map(({ id }) => id)),
    hrefOf: (id) => `${link({ from: planned.from === 0 ? null : planned.from, open: id })}#${id}`,
  };
  const page: Page<DatabaseRow> = { ...planned, rows: planned.rows.map((plan) => build(building, plan)) };
  const isAsked = (sql: string): boolean => !isControl(sql);
  return {
    order,
    /** Without what only begins and ends transactions. */
    asked: {
      queries: data.queries.filter(({ statement }) => isAsked(data.statements[statement]?.sql ?? '')).length,
      statements: data.statements.filter(({ sql }) => isAsked(sql)).length,
    },
    orders: Object.entries(ORDERS).map(([name, title]) => ({
      title,
      href: link({ order: name === 'run' ? null : name }),
      current: name === order,
    })),
    find,
    clear: link({ find: null }),
    page,
    nextHref: page.next === null ? null : link({ from: page.next }),
    firstHref: link({}),
    allHref: link({ all: 1 }),
    cards: shownCards,
    moreCards: Math.max(0, cards.length - CARDS_SHOWN),
    slowestMs: Math.max(0, ...data.queries.map(({ durationMs }) => durationMs ?? 0)),
  };
}
