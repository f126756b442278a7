/** What the page of the database panel needs beyond the rows: orders, the filter, groups, one page of them, cards of loops. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, firstRows } from '../../render/rows-page.ts';
import { cardOf } from './cards.ts';
import { type DatabaseData } from './data.ts';
import { asRun, byStatement, byTime, failedOnly, matches } from './list-items.ts';
import { type Building, buildRow, sharedParts } from './list-rows.ts';
import { shownPlans } from './plans.ts';
import { transactionMarks } from './transactions.ts';
import { isLoop } from '../shared/query-groups.ts';

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

export function drawQueries(data: DatabaseData, { query, amendments }: PanelPage, slowMs: number) {
  const order = orderOf(query.order);
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('database', { order: order === 'run' ? null : order, find, ...changes });
  const items = ORDERS[order].items(data);
  const found = find === '' ? items : items.filter((item) => matches(data, item, find.toLowerCase()));
  const cards = data.groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => isLoop(group))
    .sort((a, b) => b.group.durationMs - a.group.durationMs);
  const shared = sharedParts(data);
  const shownCards = cards.slice(0, CARDS_SHOWN).map((loop) => cardOf(data, loop, shared));
  const building: Building = {
    ...shared,
    data,
    slowMs,
    query,
    explained: new Set(shownCards.map(({ id }) => id)),
    plans: shownPlans(data, amendments.plan),
    transactions: order === 'run' && find === '' ? transactionMarks(data) : new Map(),
  };
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
    rows: firstRows(found, query).map((item) => buildRow(building, item)),
    total: found.length,
    allHref: link({ all: 1 }),
    cards: shownCards,
    moreCards: Math.max(0, cards.length - CARDS_SHOWN),
    slowestMs: Math.max(0, ...data.queries.map(({ durationMs }) => durationMs ?? 0)),
  };
}
