/** What the page of the database panel needs beyond the rows: orders, the filter, groups, one page of them, cards of loops. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, PAGE_BUDGET, type Page, pageOf } from '../shared/rows.ts';
import { cardOf } from './cards.ts';
import type { DatabaseData } from './data.ts';
import {
  asRun,
  byStatement,
  byTime,
  costOf,
  failedOnly,
  type ListItem,
  matches,
  openCostOf,
} from './list-items.ts';
import { type Building, buildRow, type DatabaseRow, sharedParts } from './list-rows.ts';
import { type ShownPlan, shownPlans } from './plans.ts';
import { transactionMarks } from './transactions.ts';

const ORDERS = {
  run: { title: 'As run', says: 'in the order they ran', items: asRun },
  time: { title: 'Slowest first', says: 'slowest first', items: byTime },
  statement: { title: 'By statement', says: 'by statement, longest total time first', items: byStatement },
  failed: { title: 'Failed', says: 'that failed', items: failedOnly },
} as const;
type Order = keyof typeof ORDERS;

const CARDS_SHOWN = 3;

function orderOf(asked: string | undefined): Order {
  return asked !== undefined && Object.hasOwn(ORDERS, asked) ? (asked as Order) : 'run';
}

/** Estimated characters of HTML of a node of a query plan. */
const NODE_COST = 330;

function planCost(plan: ShownPlan | undefined): number {
  return plan === undefined ? 0 : 500 + (plan.tree?.length ?? 0) * NODE_COST;
}

/** Its name in the address. */
function nameOf({ id, members }: ListItem): string {
  return id ?? `q${(members[0] ?? 0) + 1}`;
}

/** The first page if the item `open` is on it, else a page that begins with that item. */
function fromOf(data: DatabaseData, items: readonly ListItem[], open: string): string {
  const at = items.findIndex((item) => nameOf(item) === open);
  let spent = 0;
  for (const item of items.slice(0, Math.max(0, at))) spent += costOf(data, item, true);
  return spent > PAGE_BUDGET - 4000 ? String(at) : '0';
}

export function drawQueries(data: DatabaseData, { query, amendments }: PanelPage, slowMs: number) {
  const order = orderOf(query.order);
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('database', { order: order === 'run' ? null : order, find, ...changes });
  const items = ORDERS[order].items(data);
  const found = find === '' ? items : items.filter((item) => matches(data, item, find.toLowerCase()));
  const plans = shownPlans(data, amendments.plan);
  const open = query.open ?? '';
  const plannedCost = ({ members }: ListItem): number => planCost(plans.get(members[0] ?? -1));
  const brief =
    found.reduce((sum, item) => sum + costOf(data, item, false) + plannedCost(item), 0) > PAGE_BUDGET;
  const cost = (item: ListItem): number => {
    if (nameOf(item) === open) return openCostOf(data, item) + plannedCost(item);
    return costOf(data, item, brief) + (brief ? 0 : plannedCost(item));
  };
  const asked = { ...query, from: query.from ?? fromOf(data, found, open) };
  const listed = pageOf(found, { query: asked, cost });
  const cards = data.groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => group.kind !== 'duplicate')
    .sort((a, b) => b.group.durationMs - a.group.durationMs);
  const shared = sharedParts(data);
  const shownCards = cards.slice(0, CARDS_SHOWN).map((loop) => cardOf(data, loop, shared));
  const building: Building = {
    ...shared,
    data,
    slowMs,
    brief,
    open,
    explained: new Set(shownCards.map(({ id }) => id)),
    plans,
    transactions: order === 'run' && find === '' ? transactionMarks(data) : new Map(),
    memberFrom: /^\d{1,4}$/.test(query.member ?? '') ? Number(query.member) : 0,
    hrefOf: (id, member = 0) =>
      `${link({ from: listed.from === 0 ? null : listed.from, open: id, member: member === 0 ? null : member })}#${id}`,
  };
  const page: Page<DatabaseRow> = { ...listed, rows: listed.rows.map((item) => buildRow(building, item)) };
  return {
    order,
    says: ORDERS[order].says,
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
