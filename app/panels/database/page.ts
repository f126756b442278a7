/**
 * What the page of the database panel shows: rows in the asked order, groups folded to one row, loops explained above.
 * Made when the page is asked for, from stored and masked data only.
 */
import type { PanelPage } from '../../profiler/panel.ts';
import type { DatabaseData } from './index.ts';
import { addressOf, PAGE_BUDGET, type Page, pageOf } from '../shared/rows.ts';
import { isControl } from '../shared/statements.ts';
import { cardOf } from './cards.ts';
import { type ShownPlan, shownPlans } from './plans.ts';
import {
  build,
  type Building,
  costOf,
  type DatabaseRow,
  matches,
  openCostOf,
  planAsRun,
  planByStatement,
  planByTime,
  planFailed,
  type RowPlan,
  sharedParts,
} from './rows.ts';
import { transactionMarks } from './transactions.ts';

const ORDERS = {
  run: { title: 'As run', says: 'in the order they ran', plan: planAsRun },
  time: { title: 'Slowest first', says: 'slowest first', plan: planByTime },
  statement: {
    title: 'Grouped by statement',
    says: 'by statement, the one that took longest in all first',
    plan: planByStatement,
  },
  failed: { title: 'Failed', says: 'that failed', plan: planFailed },
} as const;
type Order = keyof typeof ORDERS;

const CARDS_SHOWN = 3;

function orderOf(asked: string | undefined): Order {
  return asked !== undefined && Object.hasOwn(ORDERS, asked) ? (asked as Order) : 'run';
}

/** Characters of a node of a plan on the page, roughly. */
const NODE_COST = 330;

function planCost(plan: ShownPlan | undefined): number {
  return plan === undefined ? 0 : 500 + (plan.tree?.length ?? 0) * NODE_COST;
}

/** What the address asks for a row by. */
function nameOf({ id, members }: RowPlan): string {
  return id ?? `q${(members[0] ?? 0) + 1}`;
}

/** The first page where it holds the row that is asked for, else a page that begins with it. */
function fromOf(data: DatabaseData, plans: readonly RowPlan[], open: string): string {
  const at = plans.findIndex((row) => nameOf(row) === open);
  let spent = 0;
  for (const plan of plans.slice(0, Math.max(0, at))) spent += costOf(data, plan, true);
  return spent > PAGE_BUDGET - 4000 ? String(at) : '0';
}

export function presentDatabase(
  data: DatabaseData,
  { query, amendments = {}, slowMs }: PanelPage & { slowMs: number },
) {
  const order = orderOf(query.order);
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('database', { order: order === 'run' ? null : order, find, ...changes });
  const rows = ORDERS[order].plan(data);
  const found = find === '' ? rows : rows.filter((row) => matches(data, row, find.toLowerCase()));
  const shown = shownPlans(data, amendments.plan);
  const open = query.open ?? '';
  const plannedCost = ({ members }: RowPlan): number => planCost(shown.get(members[0] ?? -1));
  const brief =
    found.reduce((sum, row) => sum + costOf(data, row, false) + plannedCost(row), 0) > PAGE_BUDGET;
  const cost = (row: RowPlan): number => {
    if (nameOf(row) === open) return openCostOf(data, row) + plannedCost(row);
    return costOf(data, row, brief) + (brief ? 0 : plannedCost(row));
  };
  const asked = { ...query, from: query.from ?? fromOf(data, found, open) };
  const planned = pageOf(found, { query: asked, cost });
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
    plans: shown,
    transactions: order === 'run' && find === '' ? transactionMarks(data) : new Map(),
    memberFrom: /^\d{1,4}$/.test(query.member ?? '') ? Number(query.member) : 0,
    hrefOf: (id, member = 0) =>
      `${link({ from: planned.from === 0 ? null : planned.from, open: id, member: member === 0 ? null : member })}#${id}`,
  };
  const page: Page<DatabaseRow> = { ...planned, rows: planned.rows.map((row) => build(building, row)) };
  const isAsked = (sql: string): boolean => !isControl(sql);
  return {
    order,
    says: ORDERS[order].says,
    /** Without what only begins and ends transactions. */
    asked: {
      queries: data.queries.filter(({ statement }) => isAsked(data.statements[statement]?.sql ?? '')).length,
      statements: data.statements.filter(({ sql }) => isAsked(sql)).length,
    },
    orders: Object.entries(ORDERS)
      .filter(([name]) => name !== 'failed' || data.totals.failed > 0 || order === 'failed')
      .map(([name, { title }]) => ({
        title: name === 'failed' ? `${title} (${data.totals.failed})` : title,
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
