/** Sums over rows that a join repeats, and totals that an OFFSET skips. */
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Database, Needs, Query, Rule } from './shared/kept.ts';
import { draftAt, labelOf, plainSql, PRIMARY, type Read, readsOf, runsOf, sqlOf } from './shared/queries.ts';
import { offsetOf } from './shared/statement-reasons.ts';
import { count, excerpt, requestText } from './shared/wording.ts';

/** The same text with a filler in place of quoted texts and what is in brackets, so that clauses and commas can be found. */
function outline(sql: string): string {
  let depth = 0;
  return sql.replace(/'(?:[^']|'')*'|[\s\S]/g, (part) => {
    if (part === ')') depth--;
    const shown = depth === 0 && part.length === 1 ? part : '_'.repeat(part.length);
    if (part === '(') depth++;
    return shown;
  });
}

function splitAtCommas(text: string): string[] {
  let at = 0;
  return outline(text)
    .split(',')
    .map(({ length }) => {
      const part = text.slice(at, at + length).trim();
      at += length + 1;
      return part;
    });
}

const SELECT =
  /^select (.+?) from (.+?)(?: where .+?)?(?: group by (.+?))?(?: having .+?)?(?: order by .+?)?(?: (?:limit|offset|fetch|for) .*)?;?$/di;

/** The parts of a plain SELECT; null for any other statement. */
function selectOf(sql: string): { columns: string[]; from: string; groups: string[] } | null {
  const text = sql.trim();
  const [, columns, from, groups] = SELECT.exec(outline(text))?.indices ?? [];
  if (columns === undefined || from === undefined) return null;
  return {
    columns: splitAtCommas(text.slice(...columns)),
    from: text.slice(...from),
    groups: groups === undefined ? [] : splitAtCommas(text.slice(...groups)),
  };
}

interface Link {
  on: string;
  one: string;
  many: string;
  key: string;
  /** The table with many rows was joined to the other, by this key alone. The other way round, or with more conditions, it may well be one row. */
  fansOut: boolean;
}

const TABLE = /^(?:\w+\.)?(\w+)(?: as)?(?: (\w+))?$/i;
const JOINED =
  /^(?:\w+\.)?(\w+)(?: as)?(?: (?!on\b)(\w+))? on \(?(\w+)\.(\w+) ?= ?(\w+)\.(\w+)((?: and (?!.* or ).+)?)\)?$/i;
/** Rows that were deleted by a mark: those that are left are many all the same. */
const NOT_DELETED = /^(?: and (?:[\w.]+ is null|not [\w.]+))*$/i;

/** Tables by their names in the statement, and which of two has many rows for one of the other; null if that is not clear. */
function joinsOf(from: string): { tables: Map<string, string>; links: Link[] } | null {
  const [first = '', ...joins] = from.split(/ (?:(?:left|right|inner|full|outer) )*join /i);
  const [, table, alias = table] = TABLE.exec(first) ?? [];
  if (table === undefined || alias === undefined) return null;
  const tables = new Map([[alias, table]]);
  const links: Link[] = [];
  for (const join of joins) {
    const [, joined, as = joined, a = '', x = '', b = '', y = '', more = ''] = JOINED.exec(join) ?? [];
    const isOneFirst = PRIMARY.test(x);
    const key = isOneFirst ? y : x;
    if (joined === undefined || as === undefined || PRIMARY.test(y) === isOneFirst) return null;
    if (!/id$/i.test(key) || tables.has(as)) return null;
    tables.set(as, joined);
    const [one, many] = isOneFirst ? [a, b] : [b, a];
    links.push({
      on: `${a}.${x} = ${b}.${y}`,
      one,
      many,
      key,
      fansOut: many === as && NOT_DELETED.test(more),
    });
  }
  return { tables, links };
}

/** The links from one table to another, and whether each leads from one row to many. */
function pathBetween(
  links: readonly Link[],
  from: string,
  to: string,
): { link: Link; isToMany: boolean }[] | null {
  if (from === to) return [];
  for (const link of links) {
    const isToMany = link.one === from;
    if (!isToMany && link.many !== from) continue;
    const others = links.filter((other) => other !== link);
    const further = pathBetween(others, isToMany ? link.many : link.one, to);
    if (further !== null) return [{ link, isToMany }, ...further];
  }
  return null;
}

/** The join that repeats a row of the first table for each row of the second. */
function repeatsBetween(links: readonly Link[], from: string, to: string): Link | undefined {
  return pathBetween(links, from, to)?.find((step) => step.isToMany && step.link.fansOut)?.link;
}

const SUMMED = /\b(sum|count) ?\( ?(distinct )?([^()]+(?:\([^()]*\)[^()]*)*)\)(?! ?over\b)/gi;

/** What is summed up or counted, with the one table it is of. */
function sumsIn(columns: readonly string[]) {
  return Array.from(columns.join(', ').matchAll(SUMMED), ([, by = '', distinct, what = '']) => {
    const of = new Set(Array.from(what.matchAll(/\b(\w+)\.\w+/g), ([, alias = '']) => alias));
    const [alias] = of;
    return { by: by.toLowerCase(), isDistinct: distinct !== undefined, what: what.trim(), of, alias };
  }).flatMap(({ alias, of, ...one }) => (of.size === 1 && alias !== undefined ? [{ ...one, alias }] : []));
}

const joinedRowsSummed: Rule<Needs<'database'>> = {
  name: 'joined-rows-summed',
  needs: ['database'],
  labels: ['joined rows summed'],
  why: 'One SELECT sums or counts columns of two tables, and the join between them repeats a row of the one for each row of the other: `payments.invoice_id = invoices.id`.',
  fix: 'Sum the second table up before you join it: `left join (select invoice_id, sum(amount) as paid from payments group by invoice_id) p on p.invoice_id = i.id`. Count with `count(distinct i.id)`.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || read.joins === 0 || query.rows === 0) return [];
      const select = selectOf(plainSql(database, query));
      const joined = select === null ? null : joinsOf(select.from);
      // A division may take the repetition out again.
      if (select === null || joined === null || select.columns.some((column) => column.includes('/')))
        return [];
      const sums = sumsIn(select.columns);
      for (const { by, what, alias } of sums.filter(({ isDistinct }) => !isDistinct)) {
        for (const other of sums.filter((one) => one.alias !== alias)) {
          const link = repeatsBetween(joined.links, alias, other.alias);
          if (link === undefined || select.groups.includes(`${other.alias}.id`)) continue;
          const [table, many] = [alias, link.many].map((name) =>
            excerpt(joined.tables.get(name) ?? name, 40),
          );
          if (!other.isDistinct && repeatsBetween(joined.links, other.alias, alias) !== undefined) {
            const both = `${labelOf(database, query)} ${by}s ${excerpt(what, 40)} and ${other.by}s ${excerpt(other.what, 40)} over the joins of ${table} and ${many}, so a row of each counts once for each row of the other; sum both up by ${link.key} before you join them`;
            return [draftAt(one, both, 'warn')];
          }
          const sentence = `${labelOf(database, query)} ${by}s ${excerpt(what, 40)} over the join with ${many} (${link.on}), so a row of ${table} counts once for each row of ${many} that is joined to it; join ${many} summed up by ${link.key} instead`;
          return [draftAt(one, sentence, 'warn')];
        }
      }
      return [];
    });
  },
};

/** A column that is one value of all rows. */
const OF_ALL =
  /^(?:count|sum|avg|min|max|bool_and|bool_or|total) ?\([^()]*(?:\([^()]*\)[^()]*)*\)(?! ?over\b)/i;

const aggregateSkipped: Rule<Needs<'database'>> = {
  name: 'aggregate-skipped',
  needs: ['database'],
  labels: ['total skipped'],
  why: 'A SELECT of aggregates only, without GROUP BY and HAVING, has an OFFSET of 1 or more, and returned no row. Without GROUP BY there is one row, which the OFFSET skips.',
  fix: 'Count before the page is cut: `query.clone().count()` before `.limit()` and `.offset()`. Builders of Knex and others change themselves, so a later copy has both.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const skipped = offsetOf(read, query);
      if (read.verb !== 'select' || skipped < 1 || query.rows !== 0) return [];
      const sql = plainSql(database, query);
      const select = selectOf(sql);
      if (select === null || select.groups.length > 0 || / having /i.test(outline(sql))) return [];
      if (!select.columns.every((column) => OF_ALL.test(column))) return [];
      const sentence = `${labelOf(database, query)} returned no row: without GROUP BY, an aggregate is one row, and OFFSET ${count(skipped)} skips it`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** `sum(e.minutes) as minutes`, also within `coalesce(…, 0)::int`. */
const SUM_OF =
  /^(?:coalesce ?\( ?)?sum ?\( ?(\w+)\.(\w+) ?\)(?: ?, ?0(?:\.0+)? ?\))?(?:::\w+)?(?:(?: as)? (\w+))?$/i;
const TABLES =
  /(?:^|\bjoin |\( ?)(?:\w+\.)?(\w+)(?:(?: as)? (?!(?:on|left|right|full|inner|cross|join|using)\b)([\w>-]+))?/gi;

interface JoinedSum {
  column: string;
  /** What is summed, and its table. */
  of: string;
  table: string;
  joined: Set<string>;
}

/** Sums of one column, in a plain SELECT with joins. */
function joinedSumsIn(database: Database, { read, query }: Read): JoinedSum[] {
  if (read.verb !== 'select' || read.joins === 0 || query.found?.length !== query.rows) return [];
  const select = selectOf(plainSql(database, query));
  const tables = Array.from(select?.from.matchAll(TABLES) ?? [], ([, table = '', alias = table]) => ({
    table: table.toLowerCase(),
    alias,
  }));
  return (select?.columns ?? []).flatMap((text): JoinedSum[] => {
    const [, alias, of = '', column = 'sum'] = SUM_OF.exec(text) ?? [];
    const table = tables.find((one) => one.alias === alias)?.table;
    if (table === undefined) return [];
    const others = tables.map((one) => one.table).filter((one) => one !== table);
    return [{ column, of, table, joined: new Set(others) }];
  });
}

/** Of all groups: the one of a new row may be new. */
function totalOf(query: Query, column: string): number {
  return foundRows(query).reduce((total, row) => total + Number(row[column] ?? 0), 0);
}

function insertsInto(database: Database | undefined, table: string): Read[] {
  return readsOf(database).filter(
    ({ read, query }) =>
      read.verb === 'insert' && read.table?.toLowerCase() === table && (query.rows ?? 0) > 0,
  );
}

function hasJoinedSum({ database }: Needs<'database'>): boolean {
  return readsOf(database).some((one) => joinedSumsIn(database, one).length > 0);
}

const sumMultiplied: Rule<Needs<'database'>> = {
  name: 'sum-multiplied',
  needs: ['database'],
  labels: ['multiplied sum'],
  why: 'Since an earlier run of the statement, its sum rose by a multiple of a value. In between, one row with that value was inserted into the table that is summed, and as many rows as the multiple into a joined table, by the same request.',
  fix: 'Ask with `exists (select 1 from entry_labels …)` in place of the join, or sum up before you join. With `include` of Sequelize, use a subquery in `where`: an INNER JOIN repeats the row for each of its labels.',
  compares: hasJoinedSum,
  relates: hasJoinedSum,
  find({ database }, { startedAt }, { earlier, siblings }) {
    for (const one of readsOf(database)) {
      const sums = joinedSumsIn(database, one);
      if (sums.length === 0) continue;
      const sql = sqlOf(database, one.query);
      const bound = JSON.stringify(one.query.bindings);
      const isSame = (query: Query): boolean =>
        JSON.stringify(query.bindings) === bound &&
        query.error === null &&
        query.found?.length === query.rows;
      const before = earlier
        .map(({ head, kept }) => ({ head, query: runsOf(kept.database, sql).find(isSame) }))
        .find(({ query }) => query !== undefined);
      if (before?.query === undefined) continue;
      const { head, query } = before;
      const between = siblings.filter(
        (other) => other.head.startedAt >= head.startedAt && other.head.startedAt <= startedAt,
      );
      for (const { column, of, table, joined } of sums) {
        const writers = between.flatMap((other) =>
          insertsInto(other.kept.database, table).map((insert) => ({ other, insert })),
        );
        const [writer] = writers;
        if (writer === undefined || writers.length > 1 || writer.insert.query.rows !== 1) continue;
        const { other, insert } = writer;
        const added = Number(
          insert.query.bindings.find(({ name }) => sameName(name) === sameName(of))?.value,
        );
        const risen = totalOf(one.query, column) - totalOf(query, column);
        for (const name of added > 0 ? joined : []) {
          const inserts = insertsInto(other.kept.database, name);
          const times = inserts.reduce((sum, { query: { rows } }) => sum + (rows ?? 0), 0);
          if (times < 2 || risen !== added * times) continue;
          const sentence = `${excerpt(column, 40)} rose by ${count(risen)} since ${requestText(head)}, but ${requestText(other.head)} added one row with ${count(added)}, and ${times} to ${excerpt(name, 40)}: the join counts it ${times} times`;
          return [{ ...draftAt(one, sentence, 'bad'), broke: 'response' }];
        }
      }
    }
    return [];
  },
};

export const aggregateRules: readonly Rule[] = [joinedRowsSummed, aggregateSkipped, sumMultiplied];
